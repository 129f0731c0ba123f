/** The types that the generated code and the runtime share: an operation on the wire. */

export interface OperationSpec {
  readonly id: string;
  /** The method of the client, where it has another name than the operation. */
  readonly name?: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `/canonical/tenants/{tenantId}/export`; the values come in the order of the braces. */
  readonly path: string;
  readonly query?: readonly ParameterSpec[];
  readonly headers?: readonly ParameterSpec[];
  readonly body?: BodySpec;
  /** Where the caller's idempotency key goes; absent if the operation takes none. */
  readonly key?:
    | {
        readonly in: 'header';
        readonly name: string /** The request member with the same meaning. */;
        readonly member?: string;
      }
    | { readonly in: 'body'; readonly member: string };
  /** Whether the client may send it again: always for reads, for writes only with the caller's key. */
  readonly retry: 'safe' | 'with-key' | 'never';
  /** Whether a 404 of the service for something that does not exist is the result null. */
  readonly absent?: true;
  /** The form of the answers that the method returns, by status. Every other answer is thrown. */
  readonly answers: Readonly<Record<number, 'json' | 'bytes' | 'none'>>;
  readonly paging?: PagingSpec;
}

/** An operation as errors name it: `operation` is its id in the contract, and the text names the method that was called. */
export type OperationName = Pick<OperationSpec, 'id' | 'name'>;

export function methodOf({ id, name = id }: OperationName): string {
  return name;
}

export interface ParameterSpec {
  /** On the wire. */
  readonly name: string;
  /** The member of the caller's parameters. */
  readonly key: string;
  /** The value is a map. Each entry becomes a parameter, named `name` followed by the key. */
  readonly prefix?: true;
}

type BodySpec =
  | { readonly kind: 'json' }
  | { readonly kind: 'bytes'; readonly mediaType: string }
  | { readonly kind: 'multipart'; readonly parts: readonly PartSpec[] };

export interface PartSpec {
  readonly name: string;
  /** Whether the part is a file; else it is JSON. */
  readonly binary: boolean;
}

export interface PagingSpec {
  readonly tokenIn: 'body' | 'query';
  readonly requestToken: string;
  readonly responseToken: string;
  readonly items: string;
}

/** The arguments that a generated method passes to the runtime. */
export interface CallInput {
  readonly path?: readonly (string | number | boolean)[];
  readonly request?: unknown;
  readonly parameters?: object;
}

/** Bytes to send. A stream can be read once, so the client never retries a call with one. */
export type BinaryContent =
  | Uint8Array
  | ArrayBuffer
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>;

/** A file of a multipart request. */
export interface FilePart {
  readonly content: BinaryContent;
  /** The name of the part if absent. */
  readonly filename?: string;
  /** `application/octet-stream` if absent. */
  readonly contentType?: string;
}
