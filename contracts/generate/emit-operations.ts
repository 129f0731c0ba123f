import type { OperationEntry, OperationRoute, ParameterSpec, PathSegment } from '../operation.ts';
import {
  bodyMembers,
  type CatalogHeader,
  type CatalogOperation,
  type CatalogParameter,
  type CatalogResponse,
  type CatalogRoute,
  canonicalRoute,
  routeParameters,
} from './catalog.ts';
import { docComment, HEADER, literal, memberName, quote, union } from './print.ts';
import { type Json, type Schema, typesOf } from './schema.ts';
import type { ContractSource } from './source.ts';

const BYTES = 'AsyncIterable<Uint8Array>';
const NOTHING = 'Readonly<Record<string, never>>';

/** `operations.ts`: the ids, the types of every operation's input and answers, and the route table as data. */
export function emitOperations({ catalog, models }: ContractSource): string {
  const schemaOf = (operation: CatalogOperation) => models.get(operation.request?.schema ?? '')?.schema;
  const groups = Object.keys(catalog.groups);
  const types = catalog.operations.map((operation) => operationTypes(operation)).join('');
  const used = [...new Set(types.match(/(?<=Models\.)\w+/g) ?? [])];
  if (used.some((name) => !models.has(name))) throw new Error(`unknown model among ${used.join(', ')}`);
  const table = catalog.operations.map(
    (operation) =>
      `  ${operation.id}: ${literal(operationEntry(operation, schemaOf(operation)) as unknown as Json, '  ', operation.id.length + 4)},\n`,
  );
  return [
    HEADER,
    '',
    "import type { OperationEntry } from '../operation.ts';",
    "import type * as Models from './models.ts';",
    '',
    `export type Group = ${union(groups.map(quote))};`,
    '',
    '/** The operations of each group. */',
    `export interface GroupOperations {\n${groups.map((group) => groupMember(catalog.operations, group)).join('')}}`,
    '',
    'export type OperationId = GroupOperations[Group];',
    '',
    '/** What each operation is given and may answer. Problems are not among the answers: they are thrown. */',
    `export interface OperationTypes {\n${types}}`,
    '',
    'export const operations: Readonly<Record<OperationId, OperationEntry<OperationId, Group>>> = {',
    `${table.join('')}};`,
    '',
  ]
    .join('\n')
    .replaceAll(/ +\n/g, '\n');
}

function groupMember(all: readonly CatalogOperation[], group: string): string {
  const ids = all.filter((operation) => operation.group === group).map((operation) => quote(operation.id));
  return `  readonly ${memberName(group)}: ${union(ids, '  ')};\n`;
}

function operationTypes(operation: CatalogOperation): string {
  const parameters = routeParameters(operation, canonicalRoute(operation));
  const members = (place: CatalogParameter['in']) =>
    parameterType(parameters.filter((parameter) => parameter.in === place));
  return (
    docComment(`${operation.summary}. ${operation.description}`, '  ', stabilityTags(operation)) +
    `  readonly ${operation.id}: {\n` +
    `    readonly params: ${members('path')};\n` +
    `    readonly query: ${members('query')};\n` +
    `    readonly headers: ${members('header')};\n` +
    `    readonly body: ${bodyType(operation)};\n` +
    `    readonly response: ${union(operation.responses.map(responseType), '    ')};\n` +
    '  };\n'
  );
}

/** `@beta` and `@deprecated`, as editors know them. */
export function stabilityTags({ stability, deprecation }: CatalogOperation): readonly string[] {
  if (stability === 'preview') return ['@beta'];
  if (stability === 'internal') return ['@internal'];
  if (deprecation === null) return [];
  return [
    `@deprecated since ${deprecation.since}, removed in ${deprecation.removal}: use ${deprecation.replacement}.`,
  ];
}

function parameterType(parameters: readonly CatalogParameter[]): string {
  if (parameters.length === 0) return NOTHING;
  const members = parameters.map(({ name, required, schema, prefix }) => {
    const type =
      schema.enum === undefined
        ? scalarType(schema)
        : schema.enum
            .map((value) => quote(typeof value === 'string' ? value : JSON.stringify(value)))
            .join(' | ');
    if (prefix === true) return `readonly [name: \`${name}\${string}\`]: ${type}`;
    return `readonly ${memberName(name)}${required ? '' : '?'}: ${type}`;
  });
  return `{ ${members.join('; ')} }`;
}

function scalarType(schema: CatalogParameter['schema']): string {
  const [type = 'string'] = typesOf(schema);
  return type === 'integer' ? 'number' : type;
}

function bodyType({ request }: CatalogOperation): string {
  if (request === null) return 'null';
  return request.schema === null ? BYTES : `Models.${request.schema}`;
}

function responseType({ status, mediaType, schema, headers = [] }: CatalogResponse): string {
  const body = mediaType === null ? 'null' : schema === null ? BYTES : `Models.${schema}`;
  return `{ readonly status: ${status}; readonly body: ${body}${headersType(headers)} }`;
}

function optionalMark({ required = true }: Pick<CatalogHeader, 'required'>): '' | '?' {
  return required ? '' : '?';
}

/** What the answer must carry, and what it may: the whole member is optional where nothing in it must be. */
function headersType(headers: readonly CatalogHeader[]): string {
  if (headers.length === 0) return '';
  const members = headers.map(
    (header) => `readonly ${memberName(header.name)}${optionalMark(header)}: string`,
  );
  const whole = optionalMark({ required: headers.some(({ required = true }) => required) });
  return `; readonly headers${whole}: { ${members.join('; ')} }`;
}

function operationEntry(operation: CatalogOperation, request: Schema | undefined): OperationEntry {
  return {
    id: operation.id,
    group: operation.group,
    stability: operation.stability,
    authorizationClass: operation.authorizationClass,
    accessOperation: operation.accessOperation,
    mutation: operation.mutation,
    completion: operation.completion,
    idempotency: operation.idempotency,
    routes: operation.routes.map((route) => routeEntry(operation, route, request)),
    requestSchema: operation.request?.schema ?? null,
    requestMediaType: operation.request?.mediaType ?? null,
    bodyLimitBytes: operation.request?.bodyLimitBytes ?? null,
    ...(operation.request?.json === undefined ? {} : { json: operation.request.json }),
    ...(operation.request?.overLimit === undefined ? {} : { overLimit: operation.request.overLimit }),
    responses: operation.responses.map(({ status, mediaType, schema, headers = [] }) => ({
      status,
      mediaType,
      schema,
      headers: headers.map(({ name }) => name),
    })),
    problems: operation.problems,
  };
}

function routeEntry(
  operation: CatalogOperation,
  route: CatalogRoute,
  request: Schema | undefined,
): OperationRoute {
  const parameters = routeParameters(operation, route);
  const specs = (place: CatalogParameter['in']) =>
    parameters.filter((parameter) => parameter.in === place).map(parameterSpec);
  return {
    operationId: route.operationId,
    method: route.method,
    segments: pathSegments(route.path),
    path: specs('path'),
    query: specs('query'),
    headers: specs('header'),
    bodyFromParameters: route.bodyFromParameters ?? false,
    bodyMembers: bodyMembers(operation, route, request),
  };
}

function pathSegments(path: string): readonly PathSegment[] {
  const segments = path.split('/').slice(1);
  return segments.map((text) => (text.startsWith('{') ? { param: text.slice(1, -1) } : { literal: text }));
}

function parameterSpec({ name, required, prefix, schema }: CatalogParameter): ParameterSpec {
  const { type: _type, description: _description, examples: _examples, ...bounds } = schema;
  return {
    name,
    required,
    type: (typesOf(schema)[0] ?? 'string') as ParameterSpec['type'],
    ...(prefix === true ? { prefix } : {}),
    ...(bounds as Omit<ParameterSpec, 'name' | 'required' | 'type'>),
  };
}
