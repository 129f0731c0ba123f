import type { SdkContract, SdkOperation, SdkParameter, SdkRequest } from './ir.ts';
import {
  argumentName,
  docstring,
  PYTHON_HEADER,
  PYTHON_WIDTH,
  pythonCall,
  pythonImports,
  pythonListed,
  pythonLiteral,
} from './python-text.ts';

const SPECS = [
  'BodySpec',
  'KeySpec',
  'NoticeSpec',
  'OperationSpec',
  'PagingSpec',
  'ParameterSpec',
  'PartSpec',
];

/** `operations.py`: the data that the runtime needs about each operation. */
export function pythonOperations(contract: SdkContract): string {
  const text = contract.operations
    .map((operation) => {
      const head = `${constantName(operation)} = OperationSpec`;
      return `\n${pythonCall(head, specOf(operation, contract), '', '')}\n`;
    })
    .join('');
  const imports = pythonImports(text, [['.._operation', SPECS]]);
  return `${PYTHON_HEADER}\n${docstring(['The wire form of each operation.'])}\n${imports.map(importText).join('\n')}\n${text}`;
}

function importText(line: string): string {
  return line.length <= PYTHON_WIDTH ? line : line.replace(/import (.*)$/, 'import (\n    $1,\n)');
}

export function constantName({ names }: SdkOperation): string {
  return names.python.toUpperCase();
}

function specOf(operation: SdkOperation, contract: SdkContract): readonly string[] {
  const { id, names, method, pathTemplate, retry, responses, query, headers, request, idempotency } =
    operation;
  const { place } = idempotency;
  const answers = responses.map(({ status, body }) => `${status}: ${pythonLiteral(body?.kind ?? 'none')}`);
  const key = place?.in === 'header' ? [place.name, place.member ?? []].flat() : [place?.member ?? ''];
  const notice = noticeOf(operation, contract);
  return [
    pythonLiteral(id),
    pythonLiteral(names.python),
    pythonLiteral(method),
    pythonLiteral(pathTemplate),
    `retry=${pythonLiteral(retry)}`,
    `answers={${answers.join(', ')}}`,
    ...(operation.absent ? ['absent=True'] : []),
    ...(query.length === 0 ? [] : [pythonListed('query', query.map(parameterSpec), '    ')]),
    ...(headers.length === 0 ? [] : [pythonListed('headers', headers.map(parameterSpec), '    ')]),
    ...(request === null ? [] : [`body=${bodySpec(request)}`]),
    ...(place === null ? [] : [`key=KeySpec(${[place.in, ...key].map(pythonLiteral).join(', ')})`]),
    ...pagingSpec(operation),
    ...(notice === null
      ? []
      : [`notice=NoticeSpec(${pythonLiteral(notice.kind)}, ${pythonLiteral(notice.text)})`]),
  ];
}

function parameterSpec(parameter: SdkParameter): string {
  const names = `${pythonLiteral(parameter.name)}, ${pythonLiteral(argumentName(parameter))}`;
  return `ParameterSpec(${names}${parameter.prefix ? ', prefix=True' : ''})`;
}

function bodySpec(request: SdkRequest): string {
  const given = `${pythonLiteral(request.kind)}, ${pythonLiteral(request.mediaType)}`;
  if (request.kind === 'json') return `BodySpec(${given}${request.optional ? ', optional=True' : ''})`;
  if (request.kind === 'bytes') return `BodySpec(${given})`;
  const parts = request.parts.map(
    ({ name, type }) => `PartSpec(${pythonLiteral(name)}, binary=${pythonLiteral(type.kind === 'bytes')})`,
  );
  // One part a line: several are longer than a line may be.
  return `BodySpec(\n        ${given},\n        parts=(${parts.map((part) => `\n            ${part},`).join('')}\n        ),\n    )`;
}

function pagingSpec({ paging, query }: SdkOperation): readonly string[] {
  if (paging === null) return [];
  const parameter = query.find(({ name }) => name === paging.requestToken);
  const inQuery = paging.tokenIn === 'query' && parameter !== undefined;
  const requestToken = inQuery ? argumentName(parameter) : paging.requestToken;
  const all = [paging.tokenIn, requestToken, paging.responseToken, paging.items];
  return [`paging=PagingSpec(${all.map(pythonLiteral).join(', ')})`];
}

/** The warning for callers of the method; null for a stable operation. */
function noticeOf(
  operation: SdkOperation,
  contract: SdkContract,
): { readonly kind: 'preview' | 'deprecated'; readonly text: string } | null {
  const { names, stability } = operation;
  const deprecated = deprecationText(operation, contract);
  if (deprecated !== null) return { kind: 'deprecated', text: `${names.python} is deprecated ${deprecated}` };
  if (stability !== 'preview') return null;
  return { kind: 'preview', text: `${names.python} is a preview: it may change in any release` };
}

/** The deprecation as text; null if the operation is not deprecated. */
export function deprecationText({ deprecation }: SdkOperation, { operations }: SdkContract): string | null {
  if (deprecation === null) return null;
  const { since, removal, replacement } = deprecation;
  const other = operations.find(({ id }) => id === replacement)?.names.python ?? replacement;
  return `since ${since} and removed in ${removal}: use ${other}`;
}
