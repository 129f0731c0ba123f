/**
 * The shape of one entry of the generated operation table. `catalog.schema.json`, the schema of the catalog, defines the
 * terms; `generated/operations/` is generated from the catalog.
 */

/** `public` and `deprecated` operations change additively only; `preview` may change; `internal` is not published. */
export type Stability = 'public' | 'preview' | 'internal' | 'deprecated';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export type PathSegment = { readonly literal: string } | PathParameter;

interface PathParameter {
  readonly param: string;
  /** The parameter takes all remaining segments with the slashes between them. Only the last parameter may. */
  readonly rest?: true;
}

/** A parameter of a path, a query or a header: text on the wire, parsed as `type`. */
export interface ParameterSpec {
  readonly name: string;
  readonly required: boolean;
  readonly type: 'string' | 'integer' | 'number' | 'boolean';
  /** Every parameter whose name starts with `name` belongs to it; the rest of the name is the key. */
  readonly prefix?: true;
  readonly format?: 'date-time';
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: string | number | boolean;
  /** A path parameter that refuses `/ \\ % ? #`, also percent-encoded. Every other path parameter accepts them. */
  readonly strict?: true;
  /** A path parameter that may begin or end with white space and hold control characters. */
  readonly anyText?: true;
  /** The body may repeat the parameter under its name; the server refuses another value with this code of `errors.json`. */
  readonly mismatch?: string;
}

/** One part of a form. */
export interface FormPart {
  readonly name: string;
  /** `json`: a JSON text, read whole. `bytes`: a stream; the last part of the form. */
  readonly kind: 'json' | 'bytes';
  readonly required: boolean;
}

export interface OperationRoute {
  /** The id of the operation on the first, canonical route; each alias has its own id. */
  readonly operationId: string;
  readonly method: HttpMethod;
  readonly segments: readonly PathSegment[];
  readonly path: readonly ParameterSpec[];
  readonly query: readonly ParameterSpec[];
  readonly headers: readonly ParameterSpec[];
  /** The route takes no body: the parameters in `bodyMembers` form the request, and its schema validates it. */
  readonly bodyFromParameters: boolean;
  /** Parameters of the path and the query that are members of the request under the same name. */
  readonly bodyMembers: readonly string[];
}

interface OperationResponse {
  readonly status: number;
  /** `null` if the answer has no body. */
  readonly mediaType: string | null;
  readonly schema: string | null;
  readonly headers: readonly string[];
}

/** Limits of a JSON body: nesting, and the number of members, objects and arrays at all levels. */
export interface JsonBounds {
  readonly depthMax: number;
  readonly membersMax: number;
  readonly containersMax: number;
}

/** The refusal of content that one message cannot carry. */
export interface OverLimit {
  /** A code of `errors.json`. */
  readonly problem: string;
  /** The alternative for the caller, as a sentence. */
  readonly advice: string;
}

export type IdempotencyLocation =
  | { readonly in: 'body'; readonly pointer: string }
  | {
      readonly in: 'header';
      readonly name: string;
      /** Other names of the header, read in this order if the first is absent. */
      readonly aliases?: readonly string[];
      /** A member of the body with the same meaning; it must equal the header if the request has both. */
      readonly pointer?: string;
    };

export interface OperationEntry<Id extends string = string, Group extends string = string> {
  readonly id: Id;
  readonly group: Group;
  readonly stability: Stability;
  readonly authorizationClass: string;
  /** The rate limit that counts its requests: that of its authorization class. `null`: none. */
  readonly rateClass: string | null;
  /** The access operation that a policy must grant; `null` for none. */
  readonly accessOperation: string | null;
  readonly mutation: 'read' | 'write' | 'delete';
  readonly completion: 'atomic' | 'non-mutating' | 'maintenance' | 'receipt-bound';
  readonly idempotency: {
    readonly requirement: 'required' | 'supported' | 'unsupported' | 'not-applicable';
    readonly location: IdempotencyLocation | null;
  };
  /** The canonical route first, then its aliases. */
  readonly routes: readonly OperationRoute[];
  /** Model of the JSON or multipart body; `null` for no body or a body of plain bytes. */
  readonly requestSchema: string | null;
  readonly requestMediaType: string | null;
  /** Largest request body in bytes as sent; `null` if the operation takes no body. */
  readonly bodyLimitBytes: number | null;
  /** The parts of a `multipart/form-data` body. */
  readonly parts?: readonly FormPart[];
  /** The handler gets the JSON text of the body beside its value. */
  readonly keepsText?: true;
  /** Absent: `jsonDepthMax`, `jsonMembersMax` and `jsonContainersMax`. */
  readonly json?: JsonBounds;
  /**
   * The members of the body that hold floats, as JSON Pointers with `*` for any name or position: their numbers round to a double.
   * All other numbers must be exact.
   */
  readonly floats?: readonly string[];
  /** The refusal of a larger body; absent: `payload_too_large`. */
  readonly overLimit?: OverLimit;
  readonly responses: readonly OperationResponse[];
  /** Codes of `errors.json` that the operation may answer. */
  readonly problems: readonly string[];
}
