import type {
  HttpMethod,
  IdempotencyLocation,
  JsonBounds,
  OperationEntry,
  OverLimit,
  Stability,
} from '../operation.ts';
import type { Schema } from './schema.ts';

/** The whole catalog, composed of `catalog.json` and `operations/<group>.json`. The lint checks its shape first. */
export interface Catalog {
  readonly catalogVersion: string;
  readonly groups: Readonly<Record<string, CatalogGroup>>;
  readonly authorizationClasses: Readonly<Record<string, AuthorizationClass>>;
  readonly operations: readonly CatalogOperation[];
  readonly excluded: readonly ExcludedRoute[];
}

interface CatalogGroup {
  /** Place in the documentation, in ascending order. */
  readonly position: number;
  readonly title: string;
  readonly description: string;
}

export interface AuthorizationClass {
  readonly description: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly accessOperations: readonly string[];
  /** Settings section with the identity policies, such as `Server:CanonicalAccess`. */
  readonly settings: string | null;
  /** The rule set that decides, such as `canonical`. */
  readonly policy: string | null;
  /** The rate limit that counts requests of the class. */
  readonly rateClass: string | null;
}

export interface ExcludedRoute {
  readonly operationId: string;
  readonly method: HttpMethod;
  readonly path: string;
  readonly reason: string;
}

export interface CatalogParameter {
  readonly in: 'path' | 'query' | 'header';
  readonly name: string;
  readonly required: boolean;
  readonly prefix?: boolean;
  readonly strict?: boolean;
  readonly anyText?: boolean;
  readonly mismatch?: string;
  /** The argument of the SDKs for a header, if the name of the field cannot be one. */
  readonly sdkName?: string;
  /** The settings of the server decide what an absent parameter means, so the server fills in no default. */
  readonly setByServer?: boolean;
  /** The methods of the SDKs do not have it: callers take it from the `Link` of an answer, or are probes. */
  readonly linkOnly?: boolean;
  readonly schema: Schema;
  readonly description: string;
}

export interface CatalogRoute {
  readonly operationId: string;
  readonly method: HttpMethod;
  readonly path: string;
  readonly bodyFromParameters?: boolean;
  readonly parameters?: readonly CatalogParameter[];
}

export interface CatalogHeader {
  /** One that ends with a hyphen stands for all fields whose names start with it. */
  readonly name: string;
  readonly description: string;
  /** Whether every answer of the status carries the header; true when absent. */
  readonly required?: boolean;
}

export interface CatalogResponse {
  readonly status: number;
  readonly mediaType: string | null;
  readonly schema: string | null;
  readonly description: string;
  readonly headers?: readonly CatalogHeader[];
}

export interface CatalogOperation {
  readonly id: string;
  readonly group: string;
  readonly summary: string;
  readonly description: string;
  readonly routes: readonly CatalogRoute[];
  readonly parameters: readonly CatalogParameter[];
  readonly stability: Stability;
  readonly authorizationClass: string;
  /** `null` where no rate limit counts the operation; absent: the class decides. */
  readonly rateClass?: null;
  readonly accessOperation: string | null;
  readonly mutation: OperationEntry['mutation'];
  readonly completion: OperationEntry['completion'];
  readonly idempotency: {
    readonly requirement: OperationEntry['idempotency']['requirement'];
    readonly location: IdempotencyLocation | null;
  };
  readonly sdk: {
    readonly python: string;
    readonly typescript: string;
    /** The methods return null for what does not exist. */
    readonly absent?: true;
  } | null;
  readonly request: {
    readonly schema: string | null;
    readonly mediaType: string;
    readonly bodyLimitBytes: number;
    readonly json?: JsonBounds;
    /** The handler gets the text of the body beside its value. */
    readonly keepsText?: true;
    readonly overLimit?: OverLimit;
  } | null;
  readonly responses: readonly CatalogResponse[];
  /** The handler may answer a JSON value as text. */
  readonly answersText?: true;
  readonly problems: readonly string[];
  readonly mcp: {
    /** `preview`: a tool that only a setting of its own offers. */
    readonly exposure: 'none' | 'tool' | 'preview' | 'resource' | 'task';
    readonly name: string | null;
    readonly uri: string | null;
    readonly defaultEnabled: boolean;
  };
  readonly headerSafeFields: readonly string[];
  readonly evidence: { readonly fixtures: readonly string[]; readonly tests: readonly string[] };
  readonly deprecation: {
    readonly since: string;
    readonly replacement: string;
    readonly removal: string;
  } | null;
}

/** Whether clients call the operation by the name of a tool. */
export function isToolExposure(exposure: CatalogOperation['mcp']['exposure']): boolean {
  return exposure === 'tool' || exposure === 'preview' || exposure === 'task';
}

/** The parameter names in a path, in order. The plus sign of a catch-all parameter is not part of its name. */
export function pathNames(path: string): readonly string[] {
  return [...path.matchAll(/\{([^{}+]*)\+?\}/g)].map((match) => match[1] ?? '');
}

/** The parameters of a route: those of the operation that apply to it, then its own. */
export function routeParameters(
  operation: CatalogOperation,
  route: CatalogRoute,
): readonly CatalogParameter[] {
  const inPath = pathNames(route.path);
  return [...operation.parameters, ...(route.parameters ?? [])].filter(
    (parameter) => parameter.in !== 'path' || inPath.includes(parameter.name),
  );
}

/**
 * The parameters of a `bodyFromParameters` route that are members of the request model: they form the request. A
 * parameter of the canonical path need not be a member (the collection of `/collections/{collection}/export`).
 */
export function bodyMembers(
  operation: CatalogOperation,
  route: CatalogRoute,
  request: Schema | undefined,
): readonly string[] {
  if (route.bodyFromParameters !== true) return [];
  const members = Object.keys(request?.properties ?? {});
  return routeParameters(operation, route)
    .filter((parameter) => parameter.in !== 'header' && members.includes(parameter.name))
    .map(({ name }) => name);
}

/** The canonical route. The catalog's schema requires at least one route. */
/** The header parameter that says of which type a body of bytes is: the server then takes a body of any type. */
export function isContentType({ in: place, name }: CatalogParameter): boolean {
  return place === 'header' && name.toLowerCase() === 'content-type';
}

export function canonicalRoute(operation: CatalogOperation): CatalogRoute {
  const [route] = operation.routes;
  if (route === undefined) throw new Error(`operation ${operation.id} has no route`);
  return route;
}

/** Every header that may carry an idempotency key; empty if only the body carries it. */
export function idempotencyHeaders(location: IdempotencyLocation | null): readonly string[] {
  return location?.in === 'header' ? [location.name, ...(location.aliases ?? [])] : [];
}

export function isPublished(operation: CatalogOperation): boolean {
  return operation.stability !== 'internal';
}
