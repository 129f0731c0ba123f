import type { JobContext } from '../../jobs/job-plugin.ts';
import type { Json } from '../../kernel/canonical-json.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { commitArtifact } from '../../objects/commit-artifact.ts';
import type { ObjectParts } from '../../objects/parts.ts';
import { RunFailure } from '../../runs/plugin.ts';
import { type ArtifactPayload, commitOf } from './artifact-payload.ts';

/** Refusals that another attempt does not change. */
const FINAL: ReadonlySet<string> = new Set(['precondition_failed', 'collection_not_found']);

/** Writes the object and its record in one transaction. Another execution writes nothing and answers the same. */
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
