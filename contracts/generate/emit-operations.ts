import type { FormPart, OperationEntry, OperationRoute, ParameterSpec, PathSegment } from '../operation.ts';
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
import { floatMembers } from './float-members.ts';
import { docComment, HEADER, literal, memberName, quote, union } from './print.ts';
import { type Json, type Schema, typesOf } from './schema.ts';
import type { ContractSource } from './source.ts';

const BYTES = 'AsyncIterable<Uint8Array>';
const NOTHING = 'Readonly<Record<string, never>>';

/** `operations/<group>.ts`, a loader for them, and `operations.ts`, which joins all of them for tests and tools. */
export function emitOperations(source: ContractSource): ReadonlyMap<string, string> {
  const groups = Object.keys(source.catalog.groups);
  return new Map([
    ...groups.map((group) => [`operations/${group}.ts`, groupModule(source, group)] as const),
    ['operations/load.ts', loader(groups)],
    ['operations.ts', wholeModule(groups)],
  ]);
}

/** The types and the route table of one group. */
function groupModule({ catalog, models }: ContractSource, group: string): string {
  const members = catalog.operations.filter((operation) => operation.group === group);
  const types = members.map((operation) => operationTypes(operation)).join('');
  const used = [...new Set(types.match(/(?<=Models\.)\w+/g) ?? [])];
  if (used.some((name) => !models.has(name))) throw new Error(`unknown model among ${used.join(', ')}`);
  const rows = members.map((operation) => {
    const schema = models.get(operation.request?.schema ?? '')?.schema;
    const ofClass = catalog.authorizationClasses[operation.authorizationClass]?.rateClass ?? null;
    const rateClass = operation.rateClass === null ? null : ofClass;
    const floats = floatMembers(schema ?? {}, models);
    const entry = operationEntry(operation, schema, { rateClass, floats }) as unknown as Json;
    return `  ${operation.id}: ${literal(entry, '  ', operation.id.length + 4)},\n`;
  });
  const ids = `keyof ${typesName(group)}`;
  return [
    HEADER,
    '',
    "import type { OperationEntry } from '../../operation.ts';",
    ...(used.length === 0 ? [] : ["import type * as Models from '../models.ts';"]),
    '',
    '/** The input and the answers of each operation. A problem is thrown, so it is not among the answers. */',
    `export interface ${typesName(group)} {\n${types}}`,
    '',
    `export const operations: Readonly<Record<${ids}, OperationEntry<${ids}, ${quote(group)}>>> = {`,
    `${rows.join('')}};`,
    '',
  ]
    .join('\n')
    .replaceAll(/ +\n/g, '\n');
}

function wholeModule(groups: readonly string[]): string {
  const lines = (line: (group: string) => string) => groups.map(line).join('');
  return [
    HEADER,
    '',
    "import type { OperationEntry } from '../operation.ts';",
    "import type { Group } from './groups.ts';",
    lines(
      (group) =>
        `import { type ${typesName(group)}, operations as ${group} } from './operations/${group}.ts';\n`,
    ),
    "export type { Group } from './groups.ts';",
    '',
    '/** The operations of each group. */',
    `export interface GroupOperations {\n${lines((group) => `  readonly ${group}: keyof ${typesName(group)};\n`)}}`,
    '',
    'export type OperationId = GroupOperations[Group];',
    '',
    '/** The input and the answers of every operation. */',
    `export interface OperationTypes\n  extends ${groups.map(typesName).join(',\n    ')} {}`,
    '',
    '/** Every operation, for tests and tools. The functions import types from here, and load their own groups only. */',
    'export const operations: Readonly<Record<OperationId, OperationEntry<OperationId, Group>>> = {',
    `${lines((group) => `  ...${group},\n`)}};`,
    '',
  ].join('\n');
}

function loader(groups: readonly string[]): string {
  const rows = groups.map((group) => `  ${group}: async () => (await import('./${group}.ts')).operations,\n`);
  return [
    HEADER,
    '',
    "import type { OperationEntry } from '../../operation.ts';",
    "import type { Group } from '../groups.ts';",
    '',
    '/** The operations of one group by id, loaded only when the group is served. */',
    'export const loadOperations: Readonly<',
    '  Record<Group, () => Promise<Readonly<Record<string, OperationEntry>>>>',
    '> = {',
    `${rows.join('')}};`,
    '',
  ].join('\n');
}

function typesName(group: string): string {
  return `${group.charAt(0).toUpperCase()}${group.slice(1)}OperationTypes`;
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
    (operation.request?.keepsText === true ? '    readonly text: () => string;\n' : '') +
    (operation.answersText === true ? '    readonly answersText: true;\n' : '') +
    (isHeaderKey(operation) ? '    readonly idempotencyKey: string | null;\n' : '') +
    `    readonly response: ${union(operation.responses.map(responseType), '    ')};\n` +
    '  };\n'
  );
}

/** Whether only a header carries the idempotency key: the handler then gets it beside the body. */
function isHeaderKey({ idempotency: { location } }: CatalogOperation): boolean {
  return location?.in === 'header' && location.pointer === undefined;
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

/** The headers of an answer. The whole member is optional if none of its headers is required. */
function headersType(headers: readonly CatalogHeader[]): string {
  if (headers.length === 0) return '';
  const members = headers.map((header) =>
    header.name.endsWith('-')
      ? `readonly [name: \`${header.name}\${string}\`]: string`
      : `readonly ${memberName(header.name)}${optionalMark(header)}: string`,
  );
  const whole = optionalMark({ required: headers.some(({ required = true }) => required) });
  return `; readonly headers${whole}: { ${members.join('; ')} }`;
}

function operationEntry(
  operation: CatalogOperation,
  request: Schema | undefined,
  { rateClass, floats }: Pick<OperationEntry, 'rateClass' | 'floats'>,
): OperationEntry {
  return {
    id: operation.id,
    group: operation.group,
    stability: operation.stability,
    authorizationClass: operation.authorizationClass,
    rateClass,
    accessOperation: operation.accessOperation,
    mutation: operation.mutation,
    completion: operation.completion,
    idempotency: operation.idempotency,
    routes: operation.routes.map((route) => routeEntry(operation, route, request)),
    requestSchema: operation.request?.schema ?? null,
    requestMediaType: operation.request?.mediaType ?? null,
    bodyLimitBytes: operation.request?.bodyLimitBytes ?? null,
    ...(operation.request?.mediaType === 'multipart/form-data' ? { parts: formParts(request) } : {}),
    ...(operation.request?.keepsText === true ? { keepsText: true as const } : {}),
    ...(operation.request?.json === undefined ? {} : { json: operation.request.json }),
    ...(floats === undefined || floats.length === 0 ? {} : { floats }),
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
  return segments.map((text) => {
    const [, param, rest] = /^\{([^{}+]*)(\+?)\}$/.exec(text) ?? [];
    if (param === undefined) return { literal: text };
    return rest === '+' ? { param, rest: true } : { param };
  });
}

/** The parts of a form in the order of its model. A member of plain bytes is a stream. */
function formParts(request: Schema | undefined): readonly FormPart[] {
  return Object.entries(request?.properties ?? {}).map(([name, schema]) => ({
    name,
    kind: schema['x-svc-binary'] === true ? 'bytes' : 'json',
    required: request?.required?.includes(name) ?? false,
  }));
}

function parameterSpec({
  name,
  required,
  prefix,
  strict,
  anyText,
  mismatch,
  setByServer,
  schema,
}: CatalogParameter): ParameterSpec {
  const {
    type: _type,
    description: _description,
    examples: _examples,
    'x-svc-preview': _stability,
    'x-svc-preview-values': _values,
    default: fallback,
    ...bounds
  } = schema;
  return {
    name,
    required,
    type: (typesOf(schema)[0] ?? 'string') as ParameterSpec['type'],
    ...(prefix === true ? { prefix } : {}),
    ...(strict === true ? { strict } : {}),
    ...(anyText === true ? { anyText } : {}),
    ...(mismatch === undefined ? {} : { mismatch }),
    ...(bounds as Omit<ParameterSpec, 'name' | 'required' | 'type'>),
    ...(fallback === undefined || setByServer === true
      ? {}
      : { default: fallback as string | number | boolean }),
  };
}
