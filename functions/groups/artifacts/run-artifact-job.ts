import type { JobContext } from '../../jobs/job-plugin.ts';
import type { Json } from '../../kernel/canonical-json.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { type ArtifactCommit, commitArtifact } from '../../objects/commit-artifact.ts';
import type { ObjectParts } from '../../objects/parts.ts';
import type { ObjectMetadata } from '../../objects/rules/metadata.ts';
import { RunFailure } from '../../runs/plugin.ts';

/** The request as the run stores it, without the token of an external context. */
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

interface ArtifactPayload extends ArtifactRequest {
  /** Identifies the staged bytes, and the object that an earlier execution has written. */
  readonly ticket: string;
  /** Small bytes in base64; `null` if the bytes are staged. */
  readonly inline: string | null;
}

/** Refusals that a retry cannot change. */
const FINAL: ReadonlySet<string> = new Set(['precondition_failed', 'collection_not_found']);

/** Writes the object and its record in one transaction. A repeated execution writes nothing and returns the same result. */
export async function ingestByJob(objects: ObjectParts, context: JobContext): Promise<Json> {
  const { payload, job } = context;
  const given = payload as unknown as ArtifactPayload;
  const { collection, externalContextVerified } = given;
  await context.decide();
  const { key, artifact, receivedAt } = await commitArtifact(objects, job.space, commitOf(given)).catch(
    (error: unknown) => {
      throw isFinal(error) ? new RunFailure('validation', error.message, { cause: error }) : error;
    },
  );
  const { id: recordId, partitionKey } = key;
  const place = [collection, 'records', partitionKey, recordId].map(encodeURIComponent).join('/');
  return {
    accepted: true,
    collection,
    recordId,
    partitionKey,
    recordUri: `/collections/${place}`,
    artifact: { ...artifact },
    externalContextVerified,
    receivedAt,
  };
}

function isFinal(error: unknown): error is ServiceError {
  return error instanceof ServiceError && FINAL.has(error.code);
}

function commitOf(payload: ArtifactPayload): ArtifactCommit {
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
