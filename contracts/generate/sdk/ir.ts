import type { JsonBounds, OverLimit, Stability } from '../../operation.ts';
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
import type { Json } from '../schema.ts';
import type { ContractSource, ProblemSource } from '../source.ts';
import { modelShapes, settledModels } from './ir-models.ts';
import { pagingOf, type SdkPaging } from './paging.ts';
import { type SdkType, sdkType } from './types.ts';

/**
 * The contract as a client sees it, in no language: what the emitters of the SDKs are given. Nothing in it names a group or
 * an operation, so that it holds for whatever the catalog holds. Internal operations and models that only they reach are
 * left out; aliases are other ways to the same operation, so a client has no use for them.
 */
export interface SdkContract {
  /** Of the release, and so of the packages. */
  readonly version: string;
  /** Those with operations, in the order of the catalog. */
  readonly groups: readonly SdkGroup[];
  /** In the order of the catalog. */
  readonly operations: readonly SdkOperation[];
  /** In the order of the schema files; each of them is reached by an operation, or by every problem. */
  readonly models: readonly SdkModel[];
  /** The closed vocabulary of problem codes. */
  readonly problems: readonly ProblemSource[];
  /** The model that every problem carries. */
  readonly problemModel: string;
}

export interface SdkGroup {
  readonly name: string;
  readonly title: string;
  readonly description: string;
}

export interface SdkOperation {
  readonly id: string;
  readonly group: string;
  readonly names: { readonly typescript: string; readonly python: string };
  /** A few words, without a full stop. */
  readonly summary: string;
  /** Sentences. */
  readonly description: string;
  readonly stability: Exclude<Stability, 'internal'>;
  /** Exactly where `stability` is `deprecated`. `replacement` is the id of another operation. */
  readonly deprecation: SdkDeprecation | null;
  /** The canonical route. */
  readonly method: CatalogOperation['routes'][number]['method'];
  /** `/a/{x}/b`: the names between braces are the wire names of `path`, in that order. */
  readonly pathTemplate: string;
  /** Positional in every language, before the request. */
  readonly path: readonly SdkParameter[];
  readonly query: readonly SdkParameter[];
  /** Without the headers of the idempotency key, which `idempotency` tells of. */
  readonly headers: readonly SdkParameter[];
  readonly request: SdkRequest | null;
  /**
   * What the operation answers and a method returns: also a status of 400 and above that has a model of its own, such as a
   * report that says what is wrong. Every other answer is a problem, and thrown.
   */
  readonly responses: readonly SdkResponse[];
  readonly idempotency: SdkIdempotency;
  /**
   * Whether a client may send the operation again by itself: `safe` reads, `with-key` only when the caller gave a key in
   * the place of `idempotency`, `never` otherwise.
   */
  readonly retry: 'safe' | 'with-key' | 'never';
  readonly paging: SdkPaging | null;
  /** Codes of the problems that the operation may answer, in the order of the vocabulary. */
  readonly problems: readonly string[];
  readonly authorizationClass: string;
  /** Whether no credential is asked for. */
  readonly anonymous: boolean;
  /** What an access policy must grant; null where nothing is asked. */
  readonly accessOperation: string | null;
  readonly mutation: CatalogOperation['mutation'];
  readonly completion: CatalogOperation['completion'];
}

export interface SdkDeprecation {
  readonly since: string;
  readonly replacement: string;
  readonly removal: string;
}

export interface SdkParameter {
  /** On the wire. Of a prefix: what every name begins with, its last dot included. */
  readonly name: string;
  /**
   * In an SDK, as words in lower case: `['run', 'id']` is `runId` or `run_id`. Unique among the query and header parameters
   * of an operation, and among those of its path.
   */
  readonly words: readonly string[];
  readonly required: boolean;
  /** A map whose entries are parameters named `name` and then the key. */
  readonly prefix: boolean;
  /** A string, integer, number, boolean or literal. On the wire always text. */
  readonly type: SdkType;
  readonly description: string;
  /** What the server takes where none is given. */
  readonly default: string | number | boolean | null;
  /** A value, where not every text is one. */
  readonly example: string | null;
}

export type SdkRequest = (
  | {
      readonly kind: 'json';
      readonly model: string;
      /** Whether the body may be left out, which then stands for `{}`. */
      readonly optional: boolean;
      /** Members that say again what a path parameter of the same name says; the server takes them from the route. */
      readonly repeatsRoute: readonly string[];
      /** Absent: the same bounds as everywhere. */
      readonly json: JsonBounds | null;
    }
  | {
      readonly kind: 'multipart';
      readonly model: string;
      readonly parts: readonly SdkPart[];
    }
  | { readonly kind: 'bytes' }
) & {
  readonly mediaType: string;
  /** The largest body in bytes as sent. */
  readonly bytesMax: number;
  /** How a larger one is refused; null: `payload_too_large`. */
  readonly overLimit: OverLimit | null;
};

export interface SdkPart {
  readonly name: string;
  readonly required: boolean;
  /** `bytes` are streamed, with a file name and a media type of the caller's; everything else is sent as JSON. */
  readonly type: SdkType;
  readonly description: string;
}

export interface SdkResponse {
  readonly status: number;
  readonly description: string;
  /** null: without a body. */
  readonly body:
    | { readonly kind: 'json'; readonly mediaType: string; readonly model: string }
    | { readonly kind: 'bytes'; readonly mediaType: string }
    | null;
  readonly headers: readonly {
    readonly name: string;
    readonly required: boolean;
    readonly description: string;
  }[];
}

export interface SdkIdempotency {
  /** `required` and `supported` have a place, the others have none. */
  readonly requirement: CatalogOperation['idempotency']['requirement'];
  readonly place:
    | { readonly in: 'body'; readonly pointer: string; readonly member: string }
    | {
        readonly in: 'header';
        readonly name: string;
        /** A member of the request that says the same; null where there is none. A key in either place is a key. */
        readonly member: string | null;
      }
    | null;
}

export interface SdkModel {
  readonly name: string;
  /** The schema file without its ending: `common`, or a group. */
  readonly file: string;
  /** With its bounds in words. */
  readonly description: string;
  readonly deprecated: boolean;
  /** A request is closed: a member that is not here is refused. An answer is open: members may be added. */
  readonly role: 'request' | 'response' | 'both';
  /** Whether only operations in preview use it, so that it may change in any release as they may. */
  readonly preview: boolean;
  /** The members of an object with named members; null where the model is another name for `type`. */
  readonly members: readonly SdkMember[] | null;
  readonly type: SdkType | null;
  readonly example: Json;
}

/** What is known of a model by itself. */
export type ModelShape = Omit<SdkModel, 'preview'>;

export interface SdkMember {
  readonly name: string;
  readonly required: boolean;
  readonly type: SdkType;
  /** With its bounds, and with its default, in words. */
  readonly description: string;
  readonly deprecated: boolean;
}

/** The intermediate form of a sound contract. Throws where names of an operation would collide in an SDK. */
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
  const parameters = routeParameters(operation, route);
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
    responses: operation.responses.map(sdkResponse),
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

function sdkParameter({ name, required, prefix, schema, description }: CatalogParameter): SdkParameter {
  const type = sdkType(schema);
  return {
    name,
    words: wordsOf(prefix === true ? name.replace(/\.$/, '') : name),
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
  const position = ({ name }: SdkParameter) => path.indexOf(`{${name}}`);
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

function refuseRepeated(names: readonly string[], what: string): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`${what} collide: ${twice}`);
}
