import type { ArtifactCommit } from '../../objects/commit-artifact.ts';
import type { ObjectMetadata } from '../../objects/rules/metadata.ts';

/** What the caller asked for, as the run has it. The token of an external context is no part of it. */
export interface ArtifactRequest {
  readonly collection: string;
  /** The record as its JSON text. */
  readonly record: string;
  readonly artifact: {
    readonly container: string;
    readonly key: string;
    readonly contentType: string | null;
    readonly metadata: ObjectMetadata;
  };
  readonly contentHash: string;
  readonly contentLength: number;
  readonly externalContextVerified: boolean;
}

export interface ArtifactPayload extends ArtifactRequest {
  /** Names the staged bytes, and what an earlier execution has written. */
  readonly ticket: string;
  /** Small bytes in base64; `null` where they lie apart. */
  readonly inline: string | null;
}

export function commitOf(payload: ArtifactPayload): ArtifactCommit {
  const { collection, record, artifact, contentHash, contentLength, ticket, inline } = payload;
  const { container, key, contentType, metadata } = artifact;
  return {
    ticket,
    collection,
    recordText: record,
    place: { container, key },
    contentType,
    metadata,
    contentHash,
    contentLength,
    inline: inline === null ? null : Buffer.from(inline, 'base64'),
  };
}
