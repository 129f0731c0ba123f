import type { JsonBounds, OverLimit, Stability } from '../../operation.ts';
import type { CatalogOperation } from '../catalog.ts';
import type { Json } from '../schema.ts';
import type { ProblemSource } from '../source.ts';
import type { SdkType } from './types.ts';

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

export interface SdkPaging {
  /** The place of the request's token. */
  readonly tokenIn: 'body' | 'query';
  readonly requestToken: string;
  readonly responseToken: string;
  readonly items: string;
  /** The type of one entry. */
  readonly item: SdkType;
  /** The name of the page limit, in the same place as the token; null if there is none. */
  readonly limit: string | null;
}

interface SdkDeprecation {
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

interface SdkPart {
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
