import { expect, test } from 'vitest';
import { queryRecords } from '../../functions/collections/query-records.ts';
import { IMPORT_PROGRESS } from '../../functions/collections/store-collections.ts';
import { deleteRecord, upsertRecord } from '../../functions/collections/write-records.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { RagStage, SHAPE, sentences } from '../support/rag-stage.ts';
import { patched } from './canonical-outbox-tenant.ts';

const PROGRESS = IMPORT_PROGRESS.name;
const REPLACE = { ...SHAPE, replaceDocumentChunks: true };
const splits = (text: string) => text.split(/(?<=\.) /).sort();

interface SeenDocument {
  readonly hash: unknown;
  readonly chunks: number;
  readonly of: number;
}

/** Reads the document before each transaction of a job: what a reader between them sees. */
async function seenBetween(store: RecordStore, texts: readonly string[]): Promise<readonly SeenDocument[][]> {
  const stage = await new RagStage(store).begin();
  const seen: SeenDocument[][] = [];
  const look = async () => {
    const { records } = await queryRecords(stage.partsOver(store), stage.space, 'notes', {});
    const metadata = records.map(
      (text) => (JSON.parse(text) as { metadata: Record<string, unknown> }).metadata,
    );
    const byHash = Map.groupBy(metadata, (each) => each['documentTextHash']);
    seen.push(
      [...byHash].map(([hash, all]) => ({ hash, chunks: all.length, of: Number(all[0]?.['chunkCount']) })),
    );
  };
  const over = patched(stage.store, {
    transact: async (...given) => {
      await look();
      return stage.store.transact(...given);
    },
  });
  const service = stage.rag({ over });
  for (const text of texts) {
    const { id } = await service.start({ documentId: 'd', text, options: REPLACE });
    await service.ended(id);
  }
  await look();
  return seen;
}

/** Calls `rival` once, behind the first transaction in which a job writes records. */
export function withRival(
  inner: RecordStore,
  rival: () => Promise<unknown>,
  isArmed: () => boolean = () => true,
): RecordStore {
  let isDue = true;
  return patched(inner, {
    transact: async (scope, request, decide) => {
      let begins = false;
      const answer = await inner.transact(scope, request, (found) => {
        const decision = decide(found);
        begins = decision.writes.some((write) => 'put' in write && write.put.key.collection === PROGRESS);
        return decision;
      });
      if (begins && isDue && isArmed()) {
        isDue = false;
        await rival();
      }
      return answer;
    },
  });
}

interface Meeting {
  /** Chunks of the document before and after. */
  readonly before: number;
  readonly after: number;
  /** Which record the rival changes: the last chunk of the document before, or after. */
  readonly of: 'before' | 'after';
  readonly rival: (stage: RagStage, id: string) => Promise<unknown>;
}

/** Ingests a document again while another caller changes one of its records after the first transaction. */
async function meet(store: RecordStore, { before, after, of, rival }: Meeting) {
  const stage = await new RagStage(store).begin();
  const service = stage.rag();
  const texts = [sentences(0, before), sentences(1_000, after)];
  const documents = texts.map((text) => ({ documentId: 'd', text, options: REPLACE }));
  const planOf = async (document: object) => {
    const dry = await service.ingest({ ...document, options: { ...REPLACE, dryRun: true } });
    return dry.textResult?.chunks ?? [];
  };
  const [old, next] = [await planOf(documents[0]!), await planOf(documents[1]!)];
  const id = (of === 'before' ? old : next).at(-1)?.id ?? '';
  await service.ingest(documents[0]!);
  const over = withRival(stage.store, () => rival(stage, id));
  const { textResult } = await stage.rag({ over }).ingest(documents[1]!);
  const records = await stage.records();
  return { id, textResult, record: records.find((each) => each.id === id), count: records.length };
}

const note = (id: string) => ({ id, partitionKey: 'p', type: 'note', content: { text: 'A note.' } });
export const writesNote: Meeting['rival'] = (stage, id) =>
  upsertRecord(stage.partsOver(stage.store), stage.space, 'notes', JSON.stringify(note(id)), null);
const removes: Meeting['rival'] = (stage, id) =>
  deleteRecord(stage.partsOver(stage.store), stage.space, 'notes', { partitionKey: 'p', id });

export function describeRagRivals(store: () => RecordStore): void {
  test('an ingestion that fits one transaction is seen whole or not at all', async () => {
    const seen = await seenBetween(store(), [sentences(0, 7), sentences(100, 4)]);
    expect(seen.length).toBeGreaterThan(8);
    const states = new Set(
      seen.map((documents) => JSON.stringify(documents.map(({ chunks, of }) => [chunks, of]))),
    );
    expect([...states]).toEqual(['[]', '[[7,7]]', '[[4,4]]']);
  });

  test('the oracle of that sees a part of an ingestion that does not fit', async () => {
    const seen = await seenBetween(store(), [sentences(0, 150)]);
    expect(seen.some((documents) => documents.some(({ chunks, of }) => chunks < of))).toBe(true);
  });

  test.each([
    ['that fit one transaction', 4, 7],
    ['that do not', 120, 130],
  ])('two ingestions of one document at once %s end as one of both orders', async (_, first, second) => {
    const stage = await new RagStage(store()).begin();
    const service = stage.rag({ concurrencyMax: 4 });
    const texts = [sentences(0, first), sentences(1_000, second)];
    const jobs = await Promise.all(
      texts.map((text) => service.start({ documentId: 'd', text, options: REPLACE })),
    );
    const ended = [];
    for (const { id } of jobs) ended.push(await service.ended(id));
    expect(ended.map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
    expect(texts.map(splits)).toContainEqual(await stage.texts());
  });

  test('a large ingestion keeps a record that another call writes during its removals', async () => {
    const met = await meet(store(), { before: 110, after: 120, of: 'before', rival: writesNote });
    expect(met.record).toMatchObject(note(met.id));
    expect([met.textResult?.deletedStaleCount, met.count]).toEqual([109, 121]);
    const stale = met.textResult?.staleDeletes.map(({ id }) => id);
    expect([stale?.length, stale?.includes(met.id)]).toEqual([109, false]);
  });

  test('a large ingestion counts no removal that another call has made', async () => {
    const met = await meet(store(), { before: 110, after: 120, of: 'before', rival: removes });
    expect([met.textResult?.deletedStaleCount, met.count]).toEqual([109, 120]);
  });

  test('a large ingestion overwrites a chunk of another call, and reports it', async () => {
    const met = await meet(store(), { before: 1, after: 120, of: 'after', rival: writesNote });
    expect(met.record).toMatchObject({ type: 'rag.chunk', revision: 2 });
    expect(met.textResult).toMatchObject({ createdCount: 119, updatedCount: 1 });
    expect(met.textResult?.chunks.at(-1)).toMatchObject({ id: met.id, action: 'updated', revision: 2 });
  });
}
