import { expect, test } from 'vitest';
import { queryRecords } from '../../functions/collections/query-records.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { RagStage, SHAPE, sentences } from '../support/rag-stage.ts';
import { patched } from './canonical-outbox-tenant.ts';

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
}
