/**
 * A request as it arrived, before anything was decoded, and the answer to it. The chain knows these two shapes only, so
 * the same chain runs on a socket, under functions-framework and in process.
 */

export interface RawRequest {
  readonly method: string;
  /** The request target exactly as it was sent: path and query, undecoded. */
  readonly target: string;
  readonly httpVersion: string;
  /** Names and values in turn, as sent: nothing joined, nothing dropped. */
  readonly rawHeaders: readonly string[];
  /** The address at the other end of the connection, or '' where there is none. */
  readonly socketAddress: string;
  /** The body as it arrives. Reading ends with an error when the client breaks off or breaks the framing. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Tells a client that waits for `100 Continue` to send its body. */
  readonly proceed: () => void;
  /** Aborted when the client has gone or the server is stopping. */
  readonly signal: AbortSignal;
  /** Aborted when the server begins to stop: what is under way goes on, what only waits should answer. */
  readonly draining?: AbortSignal;
}

export interface RawResponse {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | Uint8Array | null;
  /** The connection cannot carry another request, because a part of this one was left unread. */
  readonly close: boolean;
}

export type Chain = (request: RawRequest) => Promise<RawResponse>;

/** What a handler answers when its text or bytes are there already, such as a page. */
export class RawBody {
  readonly mediaType: string;
  readonly content: string | Uint8Array;

  constructor(mediaType: string, content: string | Uint8Array) {
    this.mediaType = mediaType;
    this.content = content;
  }
}

/** The client broke off, or sent a body that is not framed as HTTP demands. */
export class BrokenBodyError extends Error {
  constructor(options?: ErrorOptions) {
    super('the request body ended before it was complete', options);
    this.name = 'BrokenBodyError';
  }
}
