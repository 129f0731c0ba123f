import { docComment, HEADER, union } from '../print.ts';
import { docParagraphs } from './describe.ts';
import type { SdkContract, SdkGroup, SdkOperation, SdkParameter } from './ir.ts';
import { docTags } from './typescript-docs.ts';
import { docBlock, keyOf, memberText, pascal, typeText } from './typescript-text.ts';

/** Names that every object has, and names of client members besides operations. */
const TAKEN = new Set([
  'constructor',
  'baseUrl',
  'withOptions',
  'findCanonicalDocument',
  'waitForExecutionRun',
  'waitForRecordImportJob',
  'waitForEmbeddingJob',
  'waitForGraphJob',
  'waitForRagIngestionJob',
  'waitForRetrievalEvaluationJob',
  'waitForProviderJob',
  'toJSON',
  'toString',
  'valueOf',
  'then',
]);

/** The class names of a group: its operations, and its own client. */
export function groupNames({ name }: SdkGroup): { readonly operations: string; readonly client: string } {
  const base = name.split('-').map(pascal).join('');
  return { operations: `${base}Operations`, client: `${base}Client` };
}

/** `groups/<group>.ts`: one method per operation, under its catalog name. */
export function typescriptGroup(contract: SdkContract, group: SdkGroup): string {
  const own = contract.operations.filter(({ group: name }) => name === group.name);
  const withParameters = own.filter(takesParameters);
  const hidden = withParameters
    .map(parametersName)
    .find((name) => contract.models.some((model) => model.name === name));
  if (hidden !== undefined) throw new Error(`${hidden} is a model and the parameters of an operation`);
  const text = `${withParameters.map(parametersType).join('')}
/** The operations of one group: ${group.title}. */
export class ${groupNames(group).operations} extends ClientCore {${own.map((operation) => methodText(operation, contract)).join('')}}
`;
  return `${HEADER}\n\n${imports(text, group)}${text}`;
}

function imports(text: string, { name }: SdkGroup): string {
  const used = (names: readonly string[]) => names.filter((each) => new RegExp(`\\b${each}\\b`).test(text));
  const types = (from: string, names: readonly string[]) => {
    const own = used(names);
    return own.length === 0 ? '' : `import type { ${own.join(', ')} } from '${from}';\n`;
  };
  const makers = ['call', 'pages'].filter((each) => text.includes(`return ${each}(`));
  return [
    types('../../call.ts', ['Call', 'PagedCall']),
    `import { ${['ClientCore', ...makers].join(', ')} } from '../../core.ts';\n`,
    types('../../operation.ts', ['BinaryContent']),
    types('../../options.ts', ['CallOptions', 'KeyedCallOptions']),
    text.includes('Models.') ? "import type * as Models from '../models.ts';\n" : '',
    `import * as operations from '../operations/${name}.ts';\n`,
  ].join('');
}

/** Whether the operation has query or header parameters. */
export function takesParameters({ query, headers }: SdkOperation): boolean {
  return query.length + headers.length > 0;
}

/** The name of their type. */
export function parametersName({ names }: SdkOperation): string {
  return `${pascal(names.typescript)}Parameters`;
}

function parametersType(operation: SdkOperation): string {
  const members = [...operation.query, ...operation.headers].map((parameter) =>
    memberText(
      { name: keyOf(parameter), required: parameter.required, deprecated: false },
      parameterType(parameter),
      parameter.description,
    ),
  );
  const doc = docComment(
    `The parameters of \`${operation.names.typescript}\` besides its path and its request.`,
  );
  return `\n${doc}export interface ${parametersName(operation)} {\n${members.join('')}}\n`;
}

function parameterType({ type, prefix, required }: SdkParameter): string {
  const one = typeText(type, 'request', 'Models.');
  const whole = prefix ? `{ readonly [name: string]: ${one} }` : one;
  return required ? whole : `${whole} | undefined`;
}

interface Argument {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  /** The default if the argument is omitted. */
  readonly fallback: string;
}

/** The arguments of a method in order. The index shows them too. */
export function argumentsOf(operation: SdkOperation): readonly Argument[] {
  const { path, request, query, headers, idempotency } = operation;
  const all: Argument[] = path.map((parameter) => ({
    name: keyOf(parameter),
    type: typeText(parameter.type, 'request', 'Models.'),
    required: true,
    fallback: '',
  }));
  if (request !== null) {
    const type = request.kind === 'bytes' ? 'BinaryContent' : `Models.${request.model}`;
    const optional = request.kind === 'json' && request.optional;
    all.push({ name: 'request', type, required: !optional, fallback: '{}' });
  }
  if (takesParameters(operation)) {
    const required = [...query, ...headers].some((parameter) => parameter.required);
    all.push({ name: 'parameters', type: parametersName(operation), required, fallback: '{}' });
  }
  const keyed = idempotency.place?.in === 'header';
  const type = keyed ? 'KeyedCallOptions' : 'CallOptions';
  all.push({ name: 'options', type, required: false, fallback: '{}' });
  // An argument before a required one must be required too.
  const last = all.findLastIndex(({ required }) => required);
  return all.map((argument, index) => ({ ...argument, required: index <= last }));
}

function methodText(operation: SdkOperation, contract: SdkContract): string {
  const { id, names, path, request, paging } = operation;
  const name = names.typescript;
  if (TAKEN.has(name)) throw new Error(`${id} cannot be called ${name} in TypeScript`);
  const list = argumentsOf(operation);
  const parameters = list.map(({ name: own, type, required, fallback }) =>
    required ? `${own}: ${type}` : `${own}: ${type} = ${fallback}`,
  );
  const input = [
    ...(path.length === 0 ? [] : [`path: [${path.map(keyOf).join(', ')}]`]),
    ...(request === null ? [] : ['request']),
    ...(takesParameters(operation) ? ['parameters'] : []),
  ];
  const answer = answerType(operation);
  const result =
    paging === null
      ? `Call<${answer}>`
      : `PagedCall<${answer}, ${typeText(paging.item, 'response', 'Models.')}>`;
  const made = `this, operations.${id}, ${input.length === 0 ? '{}' : `{ ${input.join(', ')} }`}, options`;
  return (
    `\n${docBlock(docParagraphs(operation, '`await` returns'), docTags(operation, contract), '  ')}` +
    `  ${name}(${joined(parameters, name.length + result.length)}): ${result} {\n` +
    `    return ${paging === null ? 'call' : 'pages'}(${made});\n  }\n`
  );
}

function joined(parameters: readonly string[], used: number): string {
  const line = parameters.join(', ');
  return line.length + used <= 100 ? line : `\n${parameters.map((each) => `    ${each},\n`).join('')}  `;
}

/** The result type of a call. Without a body: void, or null if another status has a body. */
export function answerType({ responses, absent }: SdkOperation): string {
  const bodies = responses.map(({ body }) => {
    if (body === null) return 'null';
    return body.kind === 'bytes' ? 'ReadableStream<Uint8Array>' : `Models.${body.model}`;
  });
  const distinct = [...new Set([...bodies, ...(absent ? ['null'] : [])])].sort(
    (a, b) => Number(a === 'null') - Number(b === 'null'),
  );
  return distinct.join() === 'null' ? 'void' : union(distinct);
}
