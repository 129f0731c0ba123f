import type { ByteBlocks } from '../kernel/byte-blocks.ts';
import type { BodyPolicy, StreamWorld } from './body-time.ts';

/**
 * A request as it arrived, before anything was decoded, and the answer to it. The chain knows these two shapes only, so
 * the same chain runs on a socket, under functions-framework and in process.
 */

export interface RawRequest {
  readonly method: string;
  /** The request target exactly as it was sent: path and query, undecoded. */
  readonly target: string;
  readonly httpVersion: string;
  /** Names and values in turn, as the client sent them: none joined, none dropped. */
  readonly rawHeaders: readonly string[];
  /** The address at the other end of the connection, or '' if it is unknown. */
  readonly socketAddress: string;
  /** The body as it arrives. Reading ends with an error when the client breaks off or breaks the framing. */
  readonly body: AsyncIterable<Uint8Array>;
  /** The same body, if it is small and gathered without a reader. */
  readonly gathered?: GatheredBody | null;
  /** Asks a client that waits for `100 Continue` to send its body. */
  readonly proceed: () => void;
  /** Aborted when the client has gone or the server is stopping. */
  readonly signal: AbortSignal;
  /** Aborted when the server begins to stop: requests under way continue, requests that only wait should answer. */
  readonly draining?: AbortSignal;
}

export interface GatheredBody {
  /** Waits until all bytes are here, no longer than the policy allows. */
  whole(world: StreamWorld, policy: BodyPolicy): Promise<ByteBlocks>;
}

export interface RawResponse {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | Uint8Array | ByteStream | null;
  /** The connection cannot carry another request, because a part of this one is unread. */
  readonly close: boolean;
  /** All requests share the bytes of the body, so that a further answer needs no memory. */
  readonly shared?: boolean;
  /** The host calls it once, when it no longer holds the answer: sent or abandoned. */
  readonly settled?: () => void;
}

// The host hands a larger body to the socket in slices of this size, and waits until the client takes each.
export const sliceBytes = 64 * 1024;

/** A response body that the host sends while it reads it. */
export class ByteStream {
  /** The number of bytes, or `null` when only the end of the stream shows it. */
  readonly size: number | null;
  readonly open: () => AsyncIterable<Uint8Array>;
  /** Ends a producer whose bytes have no reader, such as that of an answer to `HEAD`. */
  readonly discard: () => void;
  /** Aborted where the sender has to stop, although the client still reads. */
  readonly cut: AbortSignal | null;
  /** Bytes held in memory until all are sent; 0 for bytes that are read during the transfer. */
  readonly heldBytes: number;

  constructor(
    size: number | null,
    open: () => AsyncIterable<Uint8Array>,
    discard: () => void = () => {},
    cut: AbortSignal | null = null,
    heldBytes = 0,
  ) {
    this.size = size;
    this.open = open;
    this.discard = discard;
    this.cut = cut;
    this.heldBytes = heldBytes;
  }
}

/** A body that exists already, in blocks of any size. */
export function heldBlocks(blocks: readonly Uint8Array[]): ByteStream {
  const size = blocks.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const open = async function* () {
    for (const block of blocks)
      for (let at = 0; at < block.byteLength; at += sliceBytes) yield block.subarray(at, at + sliceBytes);
  };
  return new ByteStream(size, open, undefined, null, size);
}

/** The parts of a request that are known before its headers are checked. */
export interface RequestHead extends Pick<RawRequest, 'target' | 'rawHeaders' | 'socketAddress'> {
  /** Whether the body is small enough to stay unread on a connection that is kept. */
  readonly isSmall: () => boolean;
}

export interface Chain {
  (request: RawRequest): Promise<RawResponse>;
  /**
   * The refusal of a request that would wait too long, or `null`. It costs a fraction of a whole request, without which a service
   * with too many requests would spend its time on refusals.
   */
  readonly refuseEarly?: (head: RequestHead) => RawResponse | null;
}

/** An answer body whose text or bytes exist already, such as a page. */
export class RawBody {
  readonly mediaType: string;
  /** Large bodies consist of blocks, which are sent unchanged. */
  readonly content: string | Uint8Array | readonly Uint8Array[];
  /** A strong entity tag with its quotes where all requests share the bytes; `null` where they are made for one. */
  readonly etag: string | null;

  constructor(mediaType: string, content: RawBody['content'], etag: string | null = null) {
    this.mediaType = mediaType;
    this.content = content;
    this.etag = etag;
  }
}

/** The client broke off, or sent a body that is not framed as HTTP demands. */
export class BrokenBodyError extends Error {
  constructor(options?: ErrorOptions) {
    super('the request body ended before it was complete', options);
    this.name = 'BrokenBodyError';
  }
}
