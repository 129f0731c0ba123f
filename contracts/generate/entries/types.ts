import type { CatalogHeader, CatalogOperation, CatalogParameter } from '../catalog.ts';
import type { ToolMap, ToolModel } from '../mcp/types.ts';

/** Facts of an operation that bring problem codes with them; `problems.ts` says when each holds. */
export type ImpliedCase =
  | 'everyRequest'
  | 'rateLimit'
  | 'authenticated'
  | 'pathParameter'
  | 'continuationToken'
  | 'requestBody'
  | 'write'
  | 'jobAdmission';

/** Parts that entries refer to by name. */
export interface NamedParts {
  readonly parameters?: Readonly<Record<string, CatalogParameter>>;
  readonly headers?: Readonly<Record<string, CatalogHeader>>;
  readonly problemSets?: Readonly<Record<string, readonly string[]>>;
}

/** `contracts/shared.json`: named parts for every group, and defaults. */
export interface SharedSource extends NamedParts {
  readonly $schema?: string;
  readonly evidence: { readonly fixtures: readonly string[]; readonly catalogTests: readonly string[] };
  readonly impliedProblems: Readonly<Record<ImpliedCase, readonly string[]>>;
  /** By model, the members that the arguments of tools have. */
  readonly toolModels?: Readonly<Record<string, ToolModel>>;
}

/** `contracts/operations/<group>.json`: one group. The name of the file is the name of the group. */
export interface GroupSource extends NamedParts {
  readonly $schema?: string;
  readonly position: number;
  readonly title: string;
  readonly description: string;
  readonly evidence?: {
    /** Take the place of those in `shared.json`. */
    readonly catalogTests?: readonly string[];
    readonly tests?: readonly string[];
  };
  readonly operations: readonly EntrySource[];
}

/** The name of a part, or the part itself. */
export type ParameterSource = string | CatalogParameter;
export type HeaderSource = string | CatalogHeader;

export interface RouteSource {
  readonly operationId: string;
  /** Method and path, with one space between them. */
  readonly route: string;
  readonly bodyFromParameters?: boolean;
  readonly parameters?: readonly ParameterSource[];
}

export interface ResponseSource {
  readonly status: number;
  readonly mediaType?: string | null;
  readonly schema?: string;
  readonly description: string;
  readonly headers?: readonly HeaderSource[];
}

type Request = NonNullable<CatalogOperation['request']>;
type Exposure = CatalogOperation['mcp']['exposure'];

/** An operation as it is written by hand: `expand.ts` adds everything that follows from the rest. */
export interface EntrySource
  extends Pick<CatalogOperation, 'id' | 'summary' | 'description' | 'authorizationClass' | 'accessOperation'>,
    Partial<
      Pick<
        CatalogOperation,
        | 'stability'
        | 'rateClass'
        | 'mutation'
        | 'completion'
        | 'idempotency'
        | 'answersText'
        | 'headerSafeFields'
        | 'deprecation'
      >
    > {
  readonly route: string;
  /** Parameters of the canonical route, which the aliases do not have. */
  readonly routeOnlyParameters?: readonly ParameterSource[];
  readonly aliases?: readonly RouteSource[];
  readonly parameters?: readonly ParameterSource[];
  readonly sdk?: { readonly python?: string; readonly typescript?: string; readonly absent?: true };
  readonly request?: Partial<Pick<Request, 'schema' | 'mediaType'>> & Omit<Request, 'schema' | 'mediaType'>;
  readonly responses: readonly ResponseSource[];
  /** Codes and names of sets, beyond the implied ones. */
  readonly problems?: readonly string[];
  /** Implied codes that the operation never answers. */
  readonly withoutProblems?: readonly string[];
  /** Codes that stand before another one, against the order of `errors.json`. */
  readonly problemsBefore?: Readonly<Record<string, string>>;
  readonly mcp?:
    | Exclude<Exposure, 'none'>
    | (Pick<CatalogOperation['mcp'], 'exposure'> &
        Partial<CatalogOperation['mcp']> & { readonly tool?: ToolMap });
  readonly evidence?: { readonly fixtures?: readonly string[]; readonly tests?: readonly string[] };
}

/** The composed form of a group file. */
export interface ComposedGroup {
  readonly position: number;
  readonly title: string;
  readonly description: string;
  readonly operations: readonly Omit<CatalogOperation, 'group'>[];
}

export type ComposedEntry = ComposedGroup['operations'][number];
