import type { PartitionedKey } from '../collections/rules/record-key.ts';
import type { ChunkVector } from './rules/ingest-records.ts';
import { chunkRecord, manifestRecord } from './rules/ingest-records.ts';
import type { IngestPlan } from './rules/plan.ts';
import type { StoredChunks } from './rules/stored-chunks.ts';

/** One write of a plan. */
export interface PlanWrite {
  readonly key: PartitionedKey;
  /** The revision that the plan read; `null`: no record. */
  readonly seen: number | null;
  /** The JSON text of the record; `null` removes it. Made at the write, because all texts together may be large. */
  readonly text: (() => string) | null;
}

/** A record that a plan reads and does not change. */
export type KeptRecord = Pick<PlanWrite, 'key' | 'seen'>;

/** The kept records of the document and its manifest. */
export function keptRecords(plan: IngestPlan, stored: StoredChunks): readonly KeptRecord[] {
  const { document, chunks, manifest } = plan;
  const { partitionKey } = document;
  return [...chunks, ...(manifest === null ? [] : [manifest])]
    .filter(({ action }) => action === 'reused')
    .map(({ id }) => ({
      key: { partitionKey, id },
      seen: stored.at({ partitionKey, id })?.revision ?? null,
    }));
}

/** The writes of a plan in their order: chunks, then removals, then the manifest, which marks the document as complete. */
export function planWrites(
  plan: IngestPlan,
  stored: StoredChunks,
  vectorOf: (embeddingTextHash: string) => ChunkVector,
): readonly PlanWrite[] {
  const { document, chunks, stale, manifest } = plan;
  const { partitionKey } = document;
  const seen = (id: string) => stored.at({ partitionKey, id })?.revision ?? null;
  const written = chunks.filter(({ action }) => action === 'created' || action === 'updated');
  return [
    ...written.map((chunk) => ({
      key: { partitionKey, id: chunk.id },
      seen: seen(chunk.id),
      text: () => chunkRecord(plan, chunk, vectorOf(chunk.embeddingTextHash)),
    })),
    ...stale.map(({ id, revision }) => ({ key: { partitionKey, id }, seen: revision, text: null })),
    ...(manifest === null || manifest.action === 'reused'
      ? []
      : [
          {
            key: { partitionKey, id: manifest.id },
            seen: seen(manifest.id),
            text: () => manifestRecord(plan, manifest),
          },
        ]),
  ];
}
