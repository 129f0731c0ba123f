import type { PartitionedKey } from '../../collections/rules/record-key.ts';
import type { DocumentChunk } from './cut-document.ts';
import { manifestIdOf } from './ids.ts';
import type { IngestDocument } from './ingest-document.ts';
import { makeManifest } from './manifest.ts';
import { countsOf, type IngestPlan, type PlannedManifest, type StaleChunk } from './plan.ts';
import type { ChunkAction, EmbeddingAction, PlannedChunk } from './plan-chunks.ts';

/** The parts of a plan that do not follow from its document, as small JSON. */
export interface PackedPlan {
  readonly hash: string;
  /** A letter for each chunk. */
  readonly decisions: string;
  /** The records that chunks refer to, in the order of the chunks: the place of the partition key in `partitions`, and the id. */
  readonly references: readonly (readonly [partition: number, id: string])[];
  readonly partitions: readonly string[];
  readonly stale: readonly (readonly [
    id: string,
    chunkIndex: number | null,
    textHash: string | null,
    etag: string | null,
    revision: number | null,
  ])[];
  /** `null` if the request wants no manifest. */
  readonly manifest: PlannedManifest['action'] | null;
}

interface Decision {
  readonly action: ChunkAction;
  readonly embeddingAction: EmbeddingAction;
}

const letters: Readonly<Record<string, Decision>> = {
  c: { action: 'created', embeddingAction: 'generated' },
  C: { action: 'created', embeddingAction: 'reused' },
  u: { action: 'updated', embeddingAction: 'generated' },
  U: { action: 'updated', embeddingAction: 'reused' },
  r: { action: 'reused', embeddingAction: 'unchanged' },
  d: { action: 'deduplicated', embeddingAction: 'deduplicated' },
};
const letterOf = new Map(
  Object.entries(letters).map(([letter, { action, embeddingAction }]) => [action + embeddingAction, letter]),
);

export function packPlan({ hash, chunks, stale, manifest }: IngestPlan): PackedPlan {
  const partitions = new Map<string, number>();
  const references = chunks.flatMap(({ vectorFrom, duplicateOf }) => {
    const key = vectorFrom ?? duplicateOf;
    if (key === null) return [];
    const place = partitions.get(key.partitionKey) ?? partitions.size;
    partitions.set(key.partitionKey, place);
    return [[place, key.id] as const];
  });
  return {
    hash,
    decisions: chunks.map(({ action, embeddingAction }) => letterOf.get(action + embeddingAction)).join(''),
    references,
    partitions: [...partitions.keys()],
    stale: stale.map(({ id, chunkIndex, textHash, etag, revision }) => [
      id,
      chunkIndex,
      textHash,
      etag,
      revision,
    ]),
    manifest: manifest?.action ?? null,
  };
}

/** Unpacks the plan for the same document and its chunks, in short steps. Throws for another document. */
export function* unpackPlan(
  document: IngestDocument,
  cut: readonly DocumentChunk[],
  packed: PackedPlan,
): Generator<void, IngestPlan> {
  if (packed.decisions.length !== cut.length) throw new TypeError('a plan is of another document');
  const chunks = plannedChunks(cut, packed);
  const stale = packed.stale.map(
    ([id, chunkIndex, textHash, etag, revision]): StaleChunk => ({
      id,
      partitionKey: document.partitionKey,
      chunkIndex,
      textHash,
      etag,
      revision,
    }),
  );
  yield;
  const manifest = yield* plannedManifest(document, cut, packed.manifest);
  return { document, chunks, stale, manifest, counts: countsOf(chunks, stale), hash: packed.hash };
}

function plannedChunks(
  cut: readonly DocumentChunk[],
  { decisions, references, partitions }: PackedPlan,
): readonly PlannedChunk[] {
  let next = 0;
  const reference = (): PartitionedKey => {
    const [partition, id] = references[next] ?? [0, ''];
    next += 1;
    return { partitionKey: partitions[partition] ?? '', id };
  };
  return cut.map((chunk, at) => {
    const decision = letters[decisions[at] ?? ''];
    if (decision === undefined) throw new TypeError('a plan has an unknown decision');
    const vectorFrom = decision.embeddingAction === 'reused' ? reference() : null;
    const duplicateOf = decision.action === 'deduplicated' ? reference() : null;
    return { ...chunk, ...decision, vectorFrom, duplicateOf };
  });
}

function* plannedManifest(
  document: IngestDocument,
  cut: readonly DocumentChunk[],
  action: PackedPlan['manifest'],
): Generator<void, PlannedManifest | null> {
  if (action === null) return null;
  const { json, hash } = yield* makeManifest(document, cut);
  return { id: manifestIdOf(document.idPrefix, document.options.manifestId), hash, json, action };
}
