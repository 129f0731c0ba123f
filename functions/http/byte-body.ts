/** Bytes that a caller sends as a stream. A handler reads them once, from the first to the last. */
export interface ByteBody extends AsyncIterable<Uint8Array> {
  readonly mediaType: string;
  /** The file name of a part of a form, where its sender gave one. Never use it as a path. */
  readonly fileName: string | null;
  /** Settles when the stream ends; rejects when it was interrupted or exceeded a limit. */
  readonly digest: Promise<ByteDigest>;
}

export interface ByteDigest {
  readonly size: number;
  /** `sha256:` and 64 lower-case hexadecimal digits. */
  readonly hash: string;
}
