import type { SdkContract, SdkOperation } from './ir.ts';
import { keyOf } from './typescript-text.ts';

/** The parameters, results and errors as tags. */
export function docTags(operation: SdkOperation, contract: SdkContract): readonly string[] {
  const { path, responses, problems, stability, deprecation, id, names } = operation;
  const status = new Map(contract.problems.map((problem) => [problem.code, problem.status]));
  const other = contract.operations.find((candidate) => candidate.id === deprecation?.replacement);
  const answers = responses.map(({ status: answered, description, body }) => {
    const shape = body === null ? 'no body' : body.kind === 'bytes' ? body.mediaType : `\`${body.model}\``;
    return `${answered}: ${shape}. ${description}`;
  });
  const thrown = problems.map((code) => `\`${code}\` (${status.get(code)})`).join(', ');
  return [
    ...path.map((parameter) => `@param ${keyOf(parameter)} ${parameter.description}`),
    `@returns ${answers.join(' ')}`,
    ...(thrown === '' ? [] : [`@throws {APIStatusError} with the code ${thrown}.`]),
    ...(stability === 'preview' ? ['@beta'] : []),
    ...(deprecation === null
      ? []
      : [
          `@deprecated since ${deprecation.since}, removed in ${deprecation.removal}: use \`${other?.names.typescript ?? deprecation.replacement}\`.`,
        ]),
    `@see Operation \`${id}\` of the contract${id === names.typescript ? '' : `, here \`${names.typescript}\``}: docs/reference/operations.md#${id.toLowerCase()}`,
  ];
}
