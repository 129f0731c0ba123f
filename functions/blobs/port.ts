/**
 * `BlobStore`: the port through which the service keeps large objects. An object is written once under its own key and
 * never changed, so no transaction is needed: a caller with a key from the record store reads exactly that object, or
 * learns that it was removed.
 */
export interface BlobStore {
  /** The provider's name in settings and status documents, such as `files`. */
  readonly provider: string;

  /**
   * Writes an object that does not exist yet; when this resolves, the object survives a crash. If the key holds the
   * same content already, nothing is written and the first attributes stay, so a put may be repeated. Throws `conflict`
   * when it holds another content, and `too_large` or `full` with nothing written.
   */
  put(key: string, bytes: Uint8Array, attributes: BlobAttributes): Promise<void>;

  /**
   * The whole object, or `null` if it does not exist. Throws `too_large`, without reading it, when it has more than
   * `bytesMax` bytes, and `corrupt` when the bytes differ from the written ones.
   */
  get(key: string, bytesMax: number): Promise<StoredBlob | null>;

  /** Removing a missing object succeeds. */
  remove(key: string): Promise<void>;

  /**
   * Removes the objects that have the prefix at the time of the call, and answers their number. An object put meanwhile
   * may stay. When this throws, some objects may be removed already: call it again.
   */
  removeAll(prefix: string): Promise<number>;

  /** Lists the keys with the prefix (`''`: all keys) in their order, a page at a time. */
  list(prefix: string, request: BlobListRequest): Promise<BlobPage>;

  /** The name of the object for callers, who cannot open it without this service. */
  uriOf(key: string): string;

  /** Resolves when the blob store answers; throws `full` when it has no room for writes, else `unavailable`. */
  ping(): Promise<void>;

  /** Waits for the calls under way and closes the store. */
  close(): Promise<void>;
}

export interface BlobAttributes {
  /**
   * A media type that the service chooses, never a caller's: a browser that opens the object elsewhere could run it
   * otherwise.
   */
  readonly contentType: string;
  /** `sha256:` and 64 lower-case hexadecimal digits of the bytes. */
  readonly sha256: string;
  /** Facts for operators who find the object outside the service; no rule reads them. */
  readonly metadata: Readonly<Record<string, string>>;
}

export interface StoredBlob extends BlobAttributes {
  readonly bytes: Uint8Array;
}

export interface BlobListRequest {
  /** 1 to 1000. */
  readonly limit: number;
  /** `next` of the page before, with the same prefix. */
  readonly after?: string;
}

/** A page may be short or empty and still have a `next`. */
export interface BlobPage {
  readonly keys: readonly string[];
  readonly next: string | null;
}

/**
 * - `unavailable`: the blob store did not answer; whether the write was made is unknown.
 * - `conflict`: the key holds another content; nothing was written.
 * - `too_large`: more than one object may hold, or than the reader allows.
 * - `full`: no space left; nothing was written.
 * - `corrupt`: the stored content differs from the written content.
 */
export type BlobFailure = 'unavailable' | 'conflict' | 'too_large' | 'full' | 'corrupt';

export class BlobError extends Error {
  readonly failure: BlobFailure;

  constructor(failure: BlobFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'BlobError';
    this.failure = failure;
  }
}
