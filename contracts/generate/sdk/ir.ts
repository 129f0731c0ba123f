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
 * The contract from a client's view, independent of any language: the input of all SDK emitters. It names no group
 * and no operation. Internal operations, models that only they reach, and aliases are left out.
 */
export interface SdkContract {
  /** The version of the release and of the packages. */
  readonly version: string;
  /** The groups with operations, in catalog order. */
  readonly groups: readonly SdkGroup[];
  /** In catalog order. */
  readonly operations: readonly SdkOperation[];
  /** In the order of the schema files; an operation or the problem model reaches each of them. */
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
  /** Set if `stability` is `deprecated`. `replacement` is the id of another operation. */
  readonly deprecation: SdkDeprecation | null;
  /** The canonical route. */
  readonly method: CatalogOperation['routes'][number]['method'];
  /** `/a/{x}/b`: the names between braces are the wire names of `path`, in that order. */
  readonly pathTemplate: string;
  /** Positional in every language, before the request. */
  readonly path: readonly SdkParameter[];
  readonly query: readonly SdkParameter[];
  /** Without the idempotency-key headers, which `idempotency` describes. */
  readonly headers: readonly SdkParameter[];
  readonly request: SdkRequest | null;
  /**
   * The results of a method. A status of 400 and above with its own model, such as a report, is a result too; every
   * other such answer is a thrown problem. So is 304: the method has no content to return, which is not the same as an absence.
   */
  readonly responses: readonly SdkResponse[];
  /** Whether the method returns null where the service answers that something does not exist. */
  readonly absent: boolean;
  readonly idempotency: SdkIdempotency;
  /**
   * Whether a client may retry the operation: `safe` for reads, `with-key` only with the caller's key in the place of
   * `idempotency`, `never` otherwise.
   */
  readonly retry: 'safe' | 'with-key' | 'never';
  readonly paging: SdkPaging | null;
  /** The problem codes that the operation may answer, in the order of the vocabulary. */
  readonly problems: readonly string[];
  readonly authorizationClass: string;
  /** Whether the operation needs no credential. */
  readonly anonymous: boolean;
  /** The permission that an access policy must grant; null if none is needed. */
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
  /** The wire name. For a prefix: the common start of all names, including the last dot or hyphen. */
  readonly name: string;
  /**
   * The SDK name as lower-case words: `['run', 'id']` is `runId` or `run_id`. Unique among the query and header
   * parameters of an operation, and among its path parameters.
   */
  readonly words: readonly string[];
  readonly required: boolean;
  /** A map: each entry is a parameter named `name` plus the key. */
  readonly prefix: boolean;
  /** A string, integer, number, boolean or literal. On the wire always text. */
  readonly type: SdkType;
  readonly description: string;
  /** The server's default. */
  readonly default: string | number | boolean | null;
  /** An example, if not every text is valid. */
  readonly example: string | null;
}

export type SdkRequest = (
  | {
      readonly kind: 'json';
      readonly model: string;
      /** Whether the body may be omitted, which then means `{}`. */
      readonly optional: boolean;
      /** Members that repeat a path parameter of the same name; the server takes them from the route. */
      readonly repeatsRoute: readonly string[];
      /** Absent: the limits of every other request. */
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
  /** The problem of a larger body; null: `payload_too_large`. */
  readonly overLimit: OverLimit | null;
};

export interface SdkPart {
  readonly name: string;
  readonly required: boolean;
  /** `bytes` are streamed with the caller's file name and media type; everything else is sent as JSON. */
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
        /** A request member that also carries the key; null if there is none. The server accepts either place. */
        readonly member: string | null;
      }
    | null;
}

export interface SdkModel {
  readonly name: string;
  /** The schema file without its extension: `common`, or a group. */
  readonly file: string;
  /** With its bounds in words. */
  readonly description: string;
  readonly deprecated: boolean;
  /** A request is closed: the server refuses an unknown member. An answer is open: a release may add members. */
  readonly role: 'request' | 'response' | 'both';
  /** Whether it keeps members that the contract does not name, in requests and in answers. */
  readonly keepsMembers: boolean;
  /** Whether only preview operations use it: any release may then change it. */
  readonly preview: boolean;
  /** The members of an object; null if the model is an alias of `type`. */
  readonly members: readonly SdkMember[] | null;
  readonly type: SdkType | null;
  readonly example: Json;
}

/** The properties of a model that need no operation. */
export type ModelShape = Omit<SdkModel, 'preview'>;

export interface SdkMember {
  readonly name: string;
  readonly required: boolean;
  readonly type: SdkType;
  /** With its bounds, and with its default, in words. */
  readonly description: string;
  readonly deprecated: boolean;
}

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
