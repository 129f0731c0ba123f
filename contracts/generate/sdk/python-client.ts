import type { SdkContract, SdkOperation, SdkParameter } from './ir.ts';
import { methodDoc } from './python-docs.ts';
import type { PythonFlavour } from './python-flavour.ts';
import { constantName, deprecationText } from './python-operations.ts';
import {
  argumentName,
  docstring,
  isPythonName,
  PYTHON_HEADER,
  pythonCall,
  pythonImports,
  pythonListed,
  pythonLiteral,
  pythonParameter,
  pythonTuple,
  pythonType,
} from './python-text.ts';

/** Client attributes that no operation may use as its name. */
const TAKEN = new Set(
  'base_url with_options with_raw_response with_streaming_response pages find_canonical_document wait_for_execution_run wait_for_record_import_job wait_for_embedding_job wait_for_graph_job wait_for_rag_ingestion_job wait_for_retrieval_evaluation_job wait_for_provider_job close aclose'.split(
    ' ',
  ),
);

/** Parameter names that every method already uses. */
const RESERVED: ReadonlySet<string> = new Set(['self', 'request', 'options']);

export const SYNC: PythonFlavour = {
  isAsync: false,
  operations: 'Operations',
  client: 'Client',
  options: 'CallOptions',
  pages: 'Pages',
  streamed: 'StreamedResponse',
};

export const ASYNC: PythonFlavour = {
  isAsync: true,
  operations: 'AsyncOperations',
  client: 'AsyncClient',
  options: 'AsyncCallOptions',
  pages: 'AsyncPages',
  streamed: 'AsyncStreamedResponse',
};

/**
 * The result form of a method: the content, the content with status and headers, or the answer with its body unread.
 */
type View = 'data' | 'raw' | 'streamed';

const VIEWS = { raw: 'WithRawResponse', streamed: 'WithStreamingResponse' } as const;

/** `client.py` or `async_client.py`: one method per operation, under its catalog name. */
export function pythonClient(contract: SdkContract, flavour: PythonFlavour): string {
  const { operations, client } = flavour;
  const methods = inGroups(contract, (operation) => methodText(operation, contract, flavour));
  const views = Object.values(VIEWS).map(
    (view) =>
      `\n\nclass ${operations}${view}(${operations}):\n    """\`${client}.${viewProperty(view)}\`."""\n`,
  );
  const text = `class ${operations}:
${docstring([`The operations of the contract. \`${client}\` adds the transport.`], '    ')}
    def __init__(self, caller: Any) -> None:
        self._caller = caller
${methods}${views.join('')}`;
  const typed = imports(text.replaceAll('Any', ''), flavour).map((line) => `    ${line}\n`);
  return `${PYTHON_HEADER}

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._operation import Given
from . import operations as spec

if TYPE_CHECKING:
${typed.join('')}

${text}`;
}

/** `client.pyi` or `async_client.pyi`: the types of those methods, including the other views. */
export function pythonStub(contract: SdkContract, flavour: PythonFlavour): string {
  const classes = (['data', 'raw', 'streamed'] as const).map((view) => {
    const name = `${flavour.operations}${view === 'data' ? '' : VIEWS[view]}`;
    const methods = inGroups(contract, (operation) => {
      const deprecated = deprecationText(operation, contract);
      const mark =
        deprecated === null ? '' : `    @deprecated(${pythonLiteral(`Deprecated ${deprecated}`)})\n`;
      return `${mark}${signature(operation, flavour, view)} ...\n`;
    });
    return `\nclass ${name}:\n    def __init__(self, caller: Any) -> None: ...\n${methods}`;
  });
  const text = classes.join('');
  const typing = text.includes('@deprecated') ? 'from typing_extensions import deprecated\n\n' : '';
  return `${PYTHON_HEADER}

${imports(text, flavour).join('\n')}
${typing}${text}`;
}

function inGroups(contract: SdkContract, one: (operation: SdkOperation) => string): string {
  return contract.groups
    .map(({ name, title }) => {
      const own = contract.operations.filter(({ group }) => group === name);
      return `\n    # ---- ${title}\n\n${own.map(one).join('\n')}`;
    })
    .join('');
}

function imports(text: string, { isAsync }: PythonFlavour): string[] {
  const lines = pythonImports(text, [
    ['collections.abc', ['Coroutine', 'Mapping']],
    ['typing', ['Any', 'Literal']],
    ...(isAsync ? [['.._async_transport', ['AsyncStreamedResponse']] as const] : []),
    ['.._operation', ['BinaryContent']],
    ['.._options', ['AsyncCallOptions', 'CallOptions']],
    ['.._paging', ['AsyncPages', 'Pages']],
    ['.._responses', ['APIResponse', 'StreamedResponse']],
  ]);
  return text.includes('models.') ? [...lines, 'from . import models'] : lines;
}

function viewProperty(view: string): string {
  return view.replace(/(?!^)[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).toLowerCase();
}

interface Argument {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
}

export interface Arguments {
  readonly positional: readonly Argument[];
  readonly keywords: readonly Argument[];
}

/** The arguments of a method, without the options. The index shows them too. */
export function argumentsOf({ path, query, headers, request, idempotency, id }: SdkOperation): Arguments {
  const positional: Argument[] = path.map((parameter) => ({
    name: argumentName(parameter),
    type: pythonType(parameter.type, 'request', 'models.'),
    required: true,
  }));
  if (request !== null) {
    const type = request.kind === 'bytes' ? 'BinaryContent' : `models.${request.model}`;
    positional.push({ name: 'request', type, required: !(request.kind === 'json' && request.optional) });
  }
  const keywords = [...query, ...headers]
    .map(keyword)
    .toSorted((a, b) => Number(b.required) - Number(a.required));
  const keyed = idempotency.place?.in === 'header';
  if (keyed) keywords.push({ name: 'idempotency_key', type: 'str', required: false });
  refuseNames(id, [...path.map(argumentName), ...keywords.map(({ name }) => name)]);
  return { positional, keywords };
}

function keyword(parameter: SdkParameter): Argument {
  const one = pythonType(parameter.type, 'request', 'models.');
  const type = parameter.prefix ? `Mapping[str, ${one}]` : one;
  return { name: argumentName(parameter), type, required: parameter.required };
}

function refuseNames(id: string, names: readonly string[]): void {
  for (const [index, name] of names.entries()) {
    if (RESERVED.has(name) || names.indexOf(name) !== index || !isPythonName(name))
      throw new Error(`${id} cannot have the argument ${name} in Python`);
  }
}

function signature(operation: SdkOperation, flavour: PythonFlavour, view: View): string {
  const name = operation.names.python;
  if (TAKEN.has(name) || !isPythonName(name) || name.startsWith('_'))
    throw new Error(`${operation.id} cannot be called ${name} in Python`);
  const { positional, keywords } = argumentsOf(operation);
  const options: Argument = { name: 'options', type: flavour.options, required: false };
  const text = ({ name: own, type, required }: Argument) =>
    pythonParameter(`${own}: ${type}${required ? '' : ' | None = None'}`, ' '.repeat(8));
  const parts = ['self', ...positional.map(text), '*', ...[...keywords, options].map(text)];
  const paged = operation.paging !== null;
  const [head, result] = given(resultType(operation, flavour, view), flavour.isAsync, paged, view);
  return pythonCall(`${head} ${name}`, parts, ` -> ${result}:`, '    ');
}

/** A paged method returns a lazy list and is no coroutine; its other views are coroutines. */
function given(type: string, isAsync: boolean, paged: boolean, view: View): readonly [string, string] {
  if (!isAsync || (paged && view === 'data')) return ['def', type];
  return paged ? ['def', `Coroutine[Any, Any, ${type}]`] : ['async def', type];
}

function resultType(operation: SdkOperation, { pages, streamed }: PythonFlavour, view: View): string {
  if (view === 'streamed') return streamed;
  if (view === 'raw') return `APIResponse[${answerType(operation, 'bytes')}]`;
  const answer = answerType(operation, streamed);
  const { paging } = operation;
  return paging === null ? answer : `${pages}[${pythonType(paging.item, 'response', 'models.')}, ${answer}]`;
}

/** The type of an answer's body; None without a body. */
export function answerType({ responses, absent }: SdkOperation, bytes: string): string {
  const types = responses.map(({ body }) => {
    if (body === null) return 'None';
    return body.kind === 'bytes' ? bytes : `models.${body.model}`;
  });
  return [...new Set([...types, ...(absent ? ['None'] : [])])]
    .sort((a, b) => Number(a === 'None') - Number(b === 'None'))
    .join(' | ');
}

function methodText(operation: SdkOperation, contract: SdkContract, flavour: PythonFlavour): string {
  const { path, query, headers, request, idempotency, paging } = operation;
  const parameters = [...query, ...headers]
    .map(argumentName)
    .map((name) => `${pythonLiteral(name)}: ${name}`);
  const parts = [
    ...(path.length === 0 ? [] : [`path=${pythonTuple(path.map(argumentName))}`]),
    ...(request === null ? [] : ['request=request']),
    ...(parameters.length === 0 ? [] : [pythonListed('parameters', parameters, ' '.repeat(12), ['{', '}'])]),
    ...(idempotency.place?.in === 'header' ? ['idempotency_key=idempotency_key'] : []),
  ];
  const input = pythonCall('Given', parts, '', '        ').trimStart();
  const how = paging === null ? 'call' : 'pages';
  const wait = flavour.isAsync && paging === null ? 'await ' : '';
  return `${signature(operation, flavour, 'data')}
${docstring(methodDoc(operation, contract, flavour), '        ')}        given = ${input}
        return ${wait}self._caller.${how}(spec.${constantName(operation)}, given, options)
`;
}
