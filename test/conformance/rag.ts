import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { queryRecords } from '../../functions/collections/query-records.ts';
import type { RecordValue } from '../../functions/collections/rules/record-key.ts';
import { IMPORT_PROGRESS } from '../../functions/collections/store-collections.ts';
import { deleteRecord } from '../../functions/collections/write-records.ts';
import { type Ingested, ingestDocument } from '../../functions/rag/ingest.ts';
import { planWrites } from '../../functions/rag/plan-writes.ts';
import { readStored } from '../../functions/rag/read-stored.ts';
import { cutDocument } from '../../functions/rag/rules/cut-document.ts';
import { documentOf } from '../../functions/rag/rules/ingest.fixture.ts';
import { planIngestion } from '../../functions/rag/rules/plan.ts';
import { RequestRecords } from '../../functions/rag/rules/plan-chunks.ts';
import { writePlan } from '../../functions/rag/write-plan.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { recordId } from '../../functions/store/record-id.ts';
import { finish } from '../support/finish.ts';
import { RecordsStage, recordCollections } from './records-stage.ts';
import { openStore, type TestedStore } from './stores/tested-store.ts';

const VECTORS = [{ name: 'v', path: '/vectors/v/values', dimensions: 8 }];
const words = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => `Sentence ${from + at} stands here.`).join(' ');
const SHAPE = { chunkChars: 30, chunkOverlapChars: 0 };

class RagStage extends RecordsStage {
  readonly embedded: string[] = [];
  /** Records that one call may read. */
  readsMax = 5_000;
  /** Runs once, between a plan and its commit. */
  beforeEmbedding: (() => Promise<unknown>) | null = null;

  async begin(): Promise<this> {
    await this.create({ name: 'notes', vectorPolicies: VECTORS });
    return this;
  }

  ingest(request: object, options: object = {}, known = new RequestRecords()): Promise<Ingested> {
    const document = documentOf({ documentId: 'd', ...request, options: { ...SHAPE, ...options } });
    const embed = async (texts: readonly string[]) => {
      const rival = this.beforeEmbedding;
      this.beforeEmbedding = null;
      await rival?.();
      this.embedded.push(...texts);
      return texts.map((text) => Float32Array.from({ length: 8 }, (_, at) => text.length + at));
    };
    const parts = { ...this.parts, limits: { ...this.parts.limits, readsPerCallMax: this.readsMax } };
    return ingestDocument(parts, this.space, document, { embed, known });
  }

  async records(): Promise<readonly RecordValue[]> {
    const { records } = await queryRecords(this.parts, this.space, 'notes', {});
    return records.map((text) => JSON.parse(text) as RecordValue);
  }

  async texts(): Promise<readonly unknown[]> {
    const chunks = (await this.records()).filter(({ type }) => type === 'rag.chunk');
    return chunks.map(({ content }) => (content as { readonly text: string }).text).sort();
  }
}

/** Ingestions over collections, on one store. */
export function describeRag(tested: TestedStore): void {
  describe(`ingestions on ${tested.title}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await openStore(tested, recordCollections);
    });
    afterAll(() => store.close());
    const begin = () => new RagStage(store).begin();

    test('write the chunks and the manifest of a document in one transaction', async () => {
      const stage = await begin();
      const { plan, written } = await stage.ingest({ text: words(0, 5) }, { persistManifest: true });
      expect([plan.counts.createdCount, written?.whole, written?.stamps.length]).toEqual([5, true, 6]);
      const records = await stage.records();
      expect(records.map(({ id }) => id)).toEqual([...plan.chunks.map(({ id }) => id), 'd-manifest'].sort());
      expect(records.find(({ type }) => type === 'rag.manifest')?.['metadata']).toMatchObject({
        chunkCount: 5,
      });
      expect(stage.embedded).toHaveLength(5);
    });

    test('without a change write nothing, and embed nothing', async () => {
      const stage = await begin();
      const options = { persistManifest: true, skipUnchangedChunks: true, replaceDocumentChunks: true };
      await stage.ingest({ text: words(0, 5) }, options);
      const before = await stage.records();
      const { plan, written } = await stage.ingest({ text: words(0, 5) }, options);
      expect([plan.counts.reusedCount, plan.manifest?.action, written?.stamps]).toEqual([5, 'reused', []]);
      expect([await stage.records(), stage.embedded.length]).toEqual([before, 5]);
    });

    test('take vectors of the collection, also of another document', async () => {
      const stage = await begin();
      await stage.ingest({ text: words(0, 5) });
      const options = { reuseExistingChunkVectors: true };
      const { plan } = await stage.ingest(
        { text: words(0, 6), documentId: 'e', metadata: { new: true } },
        options,
      );
      expect([plan.counts.vectorReusedCount, plan.counts.vectorGeneratedCount]).toEqual([5, 1]);
      expect(stage.embedded).toHaveLength(6);
      const lent = (await stage.records()).filter(({ metadata }) =>
        Object.hasOwn(metadata as object, 'vectorReusedFromId'),
      );
      expect(lent).toHaveLength(5);
      const { vectors, content } = lent[0] as unknown as {
        readonly vectors: { readonly v: { readonly values: number[] } };
        readonly content: { readonly text: string };
      };
      expect(vectors.v.values[0]).toBe(content.text.length);
    });

    test.each([
      ['partition', 'p', 5],
      ['partition', 'q', 0],
      ['collection', 'q', 5],
    ])(
      'find duplicates in the %s, seen from partition %s: %d',
      async (chunkDedupeScope, partitionKey, count) => {
        const stage = await begin();
        await stage.ingest({ text: words(0, 5) });
        const request = { text: words(0, 5), documentId: 'e', partitionKey };
        const { plan } = await stage.ingest(request, { deduplicateExistingChunks: true, chunkDedupeScope });
        expect([plan.counts.deduplicatedCount, (await stage.texts()).length]).toEqual([count, 10 - count]);
      },
    );

    test('of one document twice in a batch lose no text: no written chunk is removed again', async () => {
      const stage = await begin();
      const options = { deduplicateExistingChunks: true, replaceDocumentChunks: true };
      const batch = new RequestRecords();
      for (const text of [
        'Sentence 1 is here. Sentence 2 is here.',
        'Sentence 2 is here. Sentence 9 is here.',
      ])
        await stage.ingest({ text }, { ...options, chunkChars: 20 }, batch);
      expect(await stage.texts()).toEqual(['Sentence 2 is here.', 'Sentence 9 is here.']);
    });

    test('remove the chunks that a document has lost, in the same transaction', async () => {
      const stage = await begin();
      await stage.ingest({ text: words(0, 40) });
      await stage.ingest({ text: words(0, 3), documentId: 'other' });
      const { plan, written } = await stage.ingest({ text: 'One.' }, { replaceDocumentChunks: true });
      expect([plan.counts.deletedStaleCount, written?.whole]).toEqual([40, true]);
      expect(await stage.texts()).toHaveLength(4);
    });

    test('remove the record of a chunk that a chunk of another document replaces', async () => {
      const stage = await begin();
      const options = { replaceDocumentChunks: true, deduplicateExistingChunks: true };
      const given = (documentId: string, access: string) =>
        stage.ingest(
          { text: words(0, 3), documentId, metadata: { access } },
          documentId === 'd' ? options : {},
        );
      await given('d', 'public');
      await given('e', 'public');
      const { plan } = await given('d', 'secret');
      expect(plan.counts).toMatchObject({ deduplicatedCount: 3, deletedStaleCount: 3 });
      const left = (await stage.records()).map(({ metadata }) => metadata as Record<string, unknown>);
      expect(left.map((each) => each['documentId'])).toEqual(['e', 'e', 'e']);
      const again = await given('d', 'secret');
      expect(again.plan.counts).toMatchObject({ deduplicatedCount: 3, deletedStaleCount: 0 });
      // No chunk replaces one of the other document any more: it keeps its records.
      const other = await stage.ingest({ text: words(0, 3), documentId: 'e' }, options);
      expect(other.plan.counts).toMatchObject({ updatedCount: 3, deletedStaleCount: 0 });
    });

    test('of a large document go chunk by chunk, removals after all chunks and the manifest last', async () => {
      const stage = await begin();
      await stage.ingest({ text: words(0, 120) });
      const options = { ...SHAPE, persistManifest: true, replaceDocumentChunks: true };
      const document = documentOf({ text: words(500, 130), documentId: 'd', options });
      const cut = finish(cutDocument(document));
      const { collection, stored } = await readStored(stage.parts, stage.space, document, cut);
      const plan = finish(planIngestion(document, cut, stored, new RequestRecords()));
      const vector = { values: new Float32Array(8).fill(1), generatedAt: null };
      const writes = planWrites(plan, stored, () => vector);
      expect(writes).toHaveLength(130 + 120 + 1);
      const key = { collection: IMPORT_PROGRESS.name, id: recordId('rag-test', stage.space) };
      let next = 0;
      const killed = new AbortController();
      const ledger = {
        keys: [{ key }],
        writes: (_: unknown, { next: moved }: { readonly next: number }) => {
          next = moved;
          if (moved >= 200) killed.abort();
          return [{ put: { key, head: { next: moved } } }];
        },
      };
      const { signal } = killed;
      const first = writePlan(stage.parts, stage.space, collection, writes, { ledger, signal });
      await expect(first).rejects.toThrow('aborted');
      const half = await stage.records();
      expect([next, half.length, half.some(({ type }) => type === 'rag.manifest')]).toEqual([
        200,
        180,
        false,
      ]);
      const rest = await writePlan(stage.parts, stage.space, collection, writes, { ledger, from: next });
      expect([rest?.whole, next]).toEqual([false, 251]);
      const records = await stage.records();
      expect([records.length, new Set(records.map(({ revision }) => revision)).size]).toEqual([131, 1]);
    });

    test('of one document at once leave one of them, whole', async () => {
      const stage = await begin();
      const options = { replaceDocumentChunks: true, persistManifest: true };
      await stage.ingest({ text: words(0, 10) }, options);
      for (let round = 1; round <= 5; round += 1) {
        const rivals = [words(round * 100, 4), words(round * 1_000, 7)];
        await Promise.all(rivals.map((text) => stage.ingest({ text }, options)));
        const expected = rivals.map((text) => text.split(/(?<=\.) /).sort());
        expect(expected).toContainEqual(await stage.texts());
      }
    });

    test('detect a rival that changes records that they keep, and plan again', async () => {
      const stage = await begin();
      const options = { skipUnchangedChunks: true, replaceDocumentChunks: true, persistManifest: true };
      const [old, next] = [words(0, 3), words(100, 3)];
      const { plan } = await stage.ingest({ text: old }, options);
      const { partitionKey } = plan.document;
      const [first] = plan.chunks;
      const key = { partitionKey, id: first?.id ?? '' };
      // One record is gone: the ingestion creates it beside those that it keeps.
      await deleteRecord(stage.parts, stage.space, 'notes', key);
      stage.beforeEmbedding = () => stage.ingest({ text: next }, options);
      const late = await stage.ingest({ text: old }, options);
      expect(late.plan.counts).toMatchObject({ createdCount: 3, reusedCount: 0, deletedStaleCount: 3 });
      expect(await stage.texts()).toEqual(old.split(/(?<=\.) /).sort());
    });

    test.each([
      ['合同一', '合同二'],
      ['reports/2026.txt', 'reports 2026.txt'],
      [`${'x'.repeat(128)}-one`, `${'x'.repeat(128)}-two`],
      ['-doc', 'doc'],
      ['Ä', '合'],
    ])(
      'of %j and %j keep their own chunks and manifests, also of a passage that both have',
      async (...ids) => {
        const stage = await begin();
        const options = { replaceDocumentChunks: true, persistManifest: true };
        for (const documentId of ids)
          await stage.ingest(
            { documentId, text: `${words(0, 1)} ${words(ids.indexOf(documentId), 1)}` },
            options,
          );
        const owners = (await stage.records()).map(({ type, metadata }) => {
          const { documentId, chunkIndex = null } = metadata as Record<string, string | number>;
          return JSON.stringify([documentId, type, chunkIndex]);
        });
        const expected = ids.flatMap((id) => [
          JSON.stringify([id, 'rag.chunk', 0]),
          JSON.stringify([id, 'rag.chunk', 1]),
          JSON.stringify([id, 'rag.manifest', null]),
        ]);
        expect(owners.toSorted()).toEqual(expected.toSorted());
      },
    );

    test.each([{ dryRun: true }, { dryRun: false }])(
      'take no record of another document: %j',
      async (how) => {
        const stage = await begin();
        const known = new RequestRecords();
        const text = words(0, 2);
        const own = { persistManifest: true, manifestId: 'm' };
        await stage.ingest({ documentId: 'a', idPrefix: 'same', text }, { ...own, ...how }, known);
        const before = await stage.records();
        const refusal = (pointer: string) => ({
          code: 'validation_failed',
          extensions: { errors: [expect.objectContaining({ pointer })] },
        });
        // Also where the request may look at its own records alone.
        for (const memory of how.dryRun ? [known] : [known, new RequestRecords()]) {
          const ingest = (request: object) => stage.ingest({ text, ...request }, { ...own, ...how }, memory);
          await expect(ingest({ documentId: 'b', idPrefix: 'same' })).rejects.toMatchObject(
            refusal('/idPrefix'),
          );
          await expect(ingest({ documentId: 'b' })).rejects.toMatchObject(refusal('/options/manifestId'));
        }
        expect(await stage.records()).toEqual(before);
        const again = await stage.ingest(
          { documentId: 'a', idPrefix: 'same', text },
          { ...own, ...how },
          known,
        );
        expect(again.plan.counts.chunkCount).toBe(2);
      },
    );

    test('that are dry write nothing, and have the plan of the real one', async () => {
      const stage = await begin();
      const dry = await stage.ingest({ text: words(0, 5) }, { dryRun: true, persistManifest: true });
      expect([dry.written, await stage.records(), stage.embedded]).toEqual([null, [], []]);
      const real = await stage.ingest({ text: words(0, 5) }, { persistManifest: true });
      expect(real.plan.hash).toBe(dry.plan.hash);
    });

    test.each([
      ['manifest', 510, { partitionKey: 'p'.repeat(2_000) }, '/options/chunkChars'],
      ['chunk', 1, { metadata: { note: 'n'.repeat(900_000) } }, '/metadata'],
    ])('with a %s that no collection takes are refused before they embed or write', async (...given) => {
      const [, count, request, pointer] = given;
      const stage = await begin();
      const whole = { ...request, text: words(1_000, count) };
      for (const dryRun of [true, false]) {
        const refused = stage.ingest(whole, { dryRun, persistManifest: true });
        const errors = [{ pointer }];
        await expect(refused).rejects.toMatchObject({ code: 'limit_exceeded', extensions: { errors } });
      }
      expect([stage.embedded, await stage.records()]).toEqual([[], []]);
    });

    test('read no records of other partitions, however many have the same text', async () => {
      const stage = await begin();
      for (let at = 0; at < 60; at += 1)
        await stage.ingest({ text: 'Same text.', partitionKey: `other ${at}` });
      stage.readsMax = 40;
      const reuse = { reuseExistingChunkVectors: true, replaceDocumentChunks: true };
      const { plan } = await stage.ingest({ text: 'Same text.', partitionKey: 'own' }, reuse);
      expect(plan.counts).toMatchObject({ vectorGeneratedCount: 1, deletedStaleCount: 0 });
      const wide = stage.ingest({ text: 'Same text.' }, { ...reuse, vectorReuseScope: 'collection' });
      await expect(wide).rejects.toMatchObject({ code: 'query_budget_exceeded' });
    });

    test('need their collection', async () => {
      const stage = new RagStage(store);
      await expect(stage.ingest({ text: 'a' })).rejects.toMatchObject({ code: 'collection_not_found' });
    });
  });
}
