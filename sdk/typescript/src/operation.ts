/** The shapes that the generated code and the runtime share: what an operation is on the wire. */

export interface OperationSpec {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `/canonical/tenants/{tenantId}/export`; the values come in the order of the braces. */
  readonly path: string;
  readonly query?: readonly ParameterSpec[];
  readonly headers?: readonly ParameterSpec[];
  readonly body?: BodySpec;
  /** Where the caller's idempotency key goes; absent where none is taken. */
  readonly key?:
    | { readonly in: 'header'; readonly name: string /** Says the same. */; readonly member?: string }
    | { readonly in: 'body'; readonly member: string };
  /** Whether the client may send it again: reads, writes with the caller's key, or never. */
  readonly retry: 'safe' | 'with-key' | 'never';
  /** What is returned, by status; every other answer is thrown. */
  readonly answers: Readonly<Record<number, 'json' | 'bytes' | 'none'>>;
  readonly paging?: PagingSpec;
}

export interface ParameterSpec {
  /** On the wire. */
  readonly name: string;
  /** In the object that the caller gives. */
  readonly key: string;
  /** The value is a map: each entry is a parameter of its own, named `name` and its key. */
  readonly prefix?: true;
}

export type BodySpec =
  | { readonly kind: 'json' }
  | { readonly kind: 'bytes'; readonly mediaType: string }
  | { readonly kind: 'multipart'; readonly parts: readonly PartSpec[] };

export interface PartSpec {
  readonly name: string;
  /** A file; otherwise JSON. */
  readonly binary: boolean;
}

export interface PagingSpec {
  readonly tokenIn: 'body' | 'query';
  readonly requestToken: string;
  readonly responseToken: string;
  readonly items: string;
}

/** What a generated method hands to the runtime. */
export interface CallInput {
  readonly path?: readonly (string | number | boolean)[];
  readonly request?: unknown;
  readonly parameters?: object;
}

/** Bytes to send. A stream can be sent once, so a call that sends one is never repeated by the client. */
export type BinaryContent =
  | Uint8Array
  | ArrayBuffer
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>;

/** A file of a multipart request. */
export interface FilePart {
  readonly content: BinaryContent;
  /** The name of the part where none is given. */
  readonly filename?: string;
  /** `application/octet-stream` where none is given. */
  readonly contentType?: string;
}
