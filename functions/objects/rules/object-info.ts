import type { ObjectMetadata } from './metadata.ts';

/** The metadata of an object in a list, with the names of the contract. */
export interface ObjectInfo {
  readonly container: string;
  readonly key: string;
  /** As its writer gave it. */
  readonly contentType: string | null;
  readonly contentLength: number;
  /** The content hash: an object with the same bytes has the same etag. */
  readonly etag: string;
  /** `sha256:` and 64 lower-case hexadecimal digits of the bytes. */
  readonly contentHash: string;
  readonly metadata: ObjectMetadata;
  readonly updatedAt: string;
}
