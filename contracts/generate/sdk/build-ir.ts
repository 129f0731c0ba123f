import {
  type CatalogOperation,
  type CatalogParameter,
  type CatalogResponse,
  canonicalRoute,
  idempotencyHeaders,
  isPublished,
  routeParameters,
} from '../catalog.ts';
import { describe } from '../emit-models.ts';
import { PROBLEM_MODEL } from '../roles.ts';
import type { ContractSource } from '../source.ts';
import type {
  ModelShape,
  SdkContract,
  SdkIdempotency,
  SdkOperation,
  SdkParameter,
  SdkRequest,
  SdkResponse,
} from './ir.ts';
import { modelShapes, settledModels } from './ir-models.ts';
import { pagingOf } from './paging.ts';
import { sdkType } from './types.ts';

/** Builds the intermediate form of a valid contract. Throws if names of an operation would collide in an SDK. */
export function sdkContract(source: ContractSource): SdkContract {
  const { catalog, problems, version } = source;
  const shapes = modelShapes(source);
  const byName = new Map(shapes.map((model) => [model.name, model]));
  const operations = catalog.operations.filter(isPublished).map((each) => sdkOperation(each, source, byName));
  const settled = settledModels(operations, byName);
  const models = shapes.map((model) => ({ ...model, preview: !settled.has(model.name) }));
  const groups = Object.entries(catalog.groups)
    .filter(([name]) => operations.some(({ group }) => group === name))
    .map(([name, { title, description }]) => ({ name, title, description }));
  refuseRepeated(
    operations.map(({ names }) => names.typescript),
    'SDK names',
  );
  return { version, groups, operations, models, problems, problemModel: PROBLEM_MODEL };
}

function sdkOperation(
  operation: CatalogOperation,
  source: ContractSource,
  models: ReadonlyMap<string, ModelShape>,
): SdkOperation {
  const { id, sdk, stability } = operation;
  if (sdk === null || stability === 'internal') throw new Error(`${id} has no SDK names`);
  const route = canonicalRoute(operation);
  const parameters = routeParameters(operation, route).filter(({ linkOnly }) => linkOnly !== true);
  const idempotency = idempotencyOf(operation);
  const keyHeaders = idempotencyHeaders(operation.idempotency.location);
  const all = (place: CatalogParameter['in']) =>
    parameters
      .filter((each) => each.in === place && !(place === 'header' && keyHeaders.includes(each.name)))
      .map(sdkParameter);
  const path = inOrderOf(route.path, all('path'));
  const [query, headers] = [all('query'), all('header')];
  refuseRepeated(path.map(nameOf), `path parameters of ${id}`);
  refuseRepeated([...query, ...headers].map(nameOf), `parameters of ${id}`);
  const shape = {
    query,
    retry: retryOf(operation),
    request: sdkRequest(operation, path, models),
    responses: operation.responses.filter(({ status }) => status !== 304).map(sdkResponse),
  };
  return {
    id,
    group: operation.group,
    names: { typescript: sdk.typescript, python: sdk.python },
    summary: operation.summary,
    description: operation.description,
    stability,
    deprecation: operation.deprecation,
    method: route.method,
    pathTemplate: route.path,
    path,
    headers,
    ...shape,
    absent: sdk.absent === true,
    idempotency,
    paging: pagingOf(shape, models),
    problems: source.problems.map(({ code }) => code).filter((code) => operation.problems.includes(code)),
    authorizationClass: operation.authorizationClass,
    anonymous:
      (source.catalog.authorizationClasses[operation.authorizationClass]?.security ?? []).length === 0,
    accessOperation: operation.accessOperation,
    mutation: operation.mutation,
    completion: operation.completion,
  };
}

function retryOf({ mutation, idempotency }: CatalogOperation): SdkOperation['retry'] {
  if (mutation === 'read') return 'safe';
  return idempotency.location === null ? 'never' : 'with-key';
}

function idempotencyOf({ id, idempotency: { requirement, location } }: CatalogOperation): SdkIdempotency {
  if (location === null) return { requirement, place: null };
  const member = location.pointer === undefined ? null : memberAt(location.pointer, id);
  if (location.in === 'header') return { requirement, place: { in: 'header', name: location.name, member } };
  return { requirement, place: { in: 'body', pointer: location.pointer, member: member ?? '' } };
}

function memberAt(pointer: string, id: string): string {
  const [, member, ...deeper] = pointer.split('/');
  if (member === undefined || deeper.length > 0) throw new Error(`the idempotency key of ${id} is no member`);
  return member;
}

function sdkParameter(parameter: CatalogParameter): SdkParameter {
  const { name, required, prefix, sdkName, schema, description } = parameter;
  const type = sdkType(schema);
  return {
    name,
    words: wordsOf(sdkName ?? name),
    required,
    prefix: prefix === true,
    type,
    description: describe({ ...schema, description }),
    default: (schema.default as SdkParameter['default'] | undefined) ?? null,
    example: (schema.examples?.[0] as string | undefined) ?? null,
  };
}

/** `runId`, `If-Match` and `tag` as words in lower case. */
function wordsOf(name: string): readonly string[] {
  return name
    .split(/[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());
}

function nameOf({ words }: SdkParameter): string {
  return words.join('');
}

function inOrderOf(path: string, parameters: readonly SdkParameter[]): readonly SdkParameter[] {
  // A parameter that takes the rest of a path ends with a plus sign.
  const position = ({ name }: SdkParameter) => path.replace('+}', '}').indexOf(`{${name}}`);
  return parameters.toSorted((a, b) => position(a) - position(b));
}

function sdkRequest(
  { request }: CatalogOperation,
  path: readonly SdkParameter[],
  models: ReadonlyMap<string, ModelShape>,
): SdkRequest | null {
  if (request === null) return null;
  const { mediaType, schema, bodyLimitBytes: bytesMax, json = null, overLimit = null } = request;
  const common = { mediaType, bytesMax, overLimit };
  if (schema === null) return { kind: 'bytes', ...common };
  const members = models.get(schema)?.members ?? null;
  if (mediaType === 'multipart/form-data') {
    const parts = (members ?? []).map(({ name, required, type, description }) => ({
      name,
      required,
      type,
      description,
    }));
    return { kind: 'multipart', model: schema, parts, ...common };
  }
  const repeated = (members ?? []).filter(({ name }) => path.some((parameter) => parameter.name === name));
  return {
    kind: 'json',
    model: schema,
    optional: members?.every(({ required }) => !required) ?? false,
    repeatsRoute: repeated.map(({ name }) => name),
    json,
    ...common,
  };
}

function sdkResponse({ status, mediaType, schema, description, headers = [] }: CatalogResponse): SdkResponse {
  const fields = headers.map((header) => ({
    name: header.name,
    required: header.required ?? true,
    description: header.description,
  }));
  if (mediaType === null) return { status, description, body: null, headers: fields };
  return {
    status,
    description,
    body: schema === null ? { kind: 'bytes', mediaType } : { kind: 'json', mediaType, model: schema },
    headers: fields,
  };
}

function refuseRepeated(names: readonly string[], kind: string): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`${kind} collide: ${twice}`);
}
