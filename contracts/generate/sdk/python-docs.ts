import { docParagraphs } from './describe.ts';
import type { SdkContract, SdkOperation } from './ir.ts';
import type { PythonFlavour } from './python-flavour.ts';
import { deprecationText } from './python-operations.ts';
import { argumentName } from './python-text.ts';

/** A method's docstring: purpose, limits, arguments, results, errors, and a link to the reference. */
export function methodDoc(
  operation: SdkOperation,
  contract: SdkContract,
  { isAsync }: PythonFlavour,
): readonly string[] {
  const { id, names } = operation;
  const deprecated = deprecationText(operation, contract);
  return [
    ...docParagraphs({ ...operation, deprecation: null }, isAsync ? '`await` returns' : '`first()` returns'),
    deprecated === null ? '' : `**Deprecated** ${deprecated}.`,
    section('Args', argumentLines(operation)),
    section('Returns', answerLines(operation)),
    section('Raises', problemLines(operation, contract)),
    `Operation \`${id}\` of the contract${id === names.python ? '' : `, here \`${names.python}\``}: docs/reference/operations.md#${id.toLowerCase()}`,
  ];
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${title}:\n${lines.map((line) => `    ${line}`).join('\n')}`;
}

function argumentLines({ path, query, headers, request, idempotency }: SdkOperation): readonly string[] {
  const body =
    request === null
      ? []
      : [`request: ${request.kind === 'bytes' ? request.mediaType : `\`${request.model}\``}.`];
  const key =
    idempotency.place?.in === 'header'
      ? [
          'idempotency_key: Identifies this operation: a repeated call with the same key and request takes effect once.',
        ]
      : [];
  return [
    ...path.map((parameter) => `${argumentName(parameter)}: ${parameter.description}`),
    ...body,
    ...[...query, ...headers].map((parameter) => `${argumentName(parameter)}: ${parameter.description}`),
    ...key,
    'options: For this call: timeout in seconds, headers, correlation id, retries.',
  ];
}

function answerLines({ responses }: SdkOperation): readonly string[] {
  return responses.map(({ status, description, body }) => {
    const shape = body === null ? 'None' : body.kind === 'bytes' ? body.mediaType : `\`${body.model}\``;
    return `${status}: ${shape}. ${description}`;
  });
}

function problemLines({ problems }: SdkOperation, contract: SdkContract): readonly string[] {
  const status = new Map(contract.problems.map((problem) => [problem.code, problem.status]));
  const codes = problems.map((code) => `\`${code}\` (${status.get(code)})`).join(', ');
  return codes === '' ? [] : [`APIStatusError: with the code ${codes}.`];
}
