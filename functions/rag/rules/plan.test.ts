import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { finish } from '../../../test/support/finish.ts';
import { refusalOf } from '../../../test/support/refusal.ts';
import { type PolicyRequest, readPolicy } from '../../collections/rules/policy.ts';
import { readRecord } from '../../collections/rules/record-text.fixture.ts';
import { sha256 } from '../../kernel/canonical-json.ts';
import { documentOf, MODEL, POLICY, planOf, storedAfter } from './ingest.fixture.ts';
import { readDocument } from './ingest-document.ts';
import { chunkRecord, manifestRecord } from './ingest-records.ts';
import { makeManifest } from './manifest.ts';
import type { IngestPlan } from './plan.ts';
import { actionSummary, chunkAnswer, comparePlanHashes } from './plan-answer.ts';
import { RequestRecords } from './plan-chunks.ts';
import type { StoredChunk } from './stored-chunks.ts';

interface Vector {
  readonly request: string;
  readonly policy: PolicyRequest;
  readonly model: { readonly provider: string; readonly modelId: string; readonly dimensions: number };
  readonly expected: {
    readonly documentId: string;
    readonly chunks: readonly (readonly [id: string, start: number, end: number])[];
    readonly manifestHash: string;
    readonly planHash: string;
  };
}

// Made by test/vectors/rag-plans.py, a second implementation.
const path = join(import.meta.dirname, '../../../test/vectors/rag-plans.json');
const vectors = Object.entries(JSON.parse(readFileSync(path, 'utf8')) as Record<string, Vector>);

test.each(vectors)(
  'the plan equals that of a second implementation: %s',
  (_, { request, policy, model, expected }) => {
    const embedder = { ...model, prefixes: MODEL.prefixes };
    const plan = planOf(readDocument(request, readPolicy(policy), embedder));
    expect(plan.document.documentId).toBe(expected.documentId);
    expect(plan.chunks.map(({ id, charStart, charEnd }) => [id, charStart, charEnd])).toEqual(
      expected.chunks,
    );
    expect(finish(makeManifest(plan.document, plan.chunks)).hash).toBe(expected.manifestHash);
    expect(plan.hash).toBe(expected.planHash);
    if (plan.manifest !== null) expect(plan.manifest.hash).toBe(expected.manifestHash);
  },
);

const text = 'One sentence here. Another there. And a third one. The end of it.';
const options = { chunkChars: 20, chunkOverlapChars: 0 };
const actionsOf = ({ chunks }: IngestPlan) =>
  chunks.map(({ action, embeddingAction }) => `${action}/${embeddingAction}`);
const all = (count: number, action: string) => Array.from({ length: count }, () => action);

describe('a chunk', () => {
  const first = planOf(documentOf({ text, documentId: 'd', options }));
  const stored = storedAfter(first);
  const count = first.chunks.length;
  const again = (more: object, request: object = {}, records: readonly StoredChunk[] = stored) =>
    planOf(documentOf({ text, documentId: 'd', ...request, options: { ...options, ...more } }), records);

  test('is created if it has no record, and updated if it has one', () => {
    expect(actionsOf(first)).toEqual(all(count, 'created/generated'));
    expect(actionsOf(again({}))).toEqual(all(count, 'updated/generated'));
  });

  test('is not written if its record already equals it', () => {
    expect(actionsOf(again({ skipUnchangedChunks: true }))).toEqual(all(count, 'reused/unchanged'));
  });

  test.each<[what: string, request: object, change: (record: StoredChunk) => Partial<StoredChunk>]>([
    ['metadata', { metadata: { a: 1 } }, () => ({})],
    ['sources', { sourceUri: 'u' }, () => ({})],
    ['schema version', { schemaVersion: '2' }, () => ({})],
    ['purpose', { embedding: { purpose: 'query' } }, () => ({})],
    ['prefix', { embedding: { passagePrefix: 'p: ' } }, () => ({})],
    ['type', {}, () => ({ type: 'other' })],
    ['stored text', {}, () => ({ contentHash: sha256('changed') })],
    ['vector', {}, () => ({ vector: null })],
    ['vector model', {}, ({ vector }) => ({ vector: { ...vector!, model: 'm' } })],
    ['place of the text', {}, ({ vector }) => ({ vector: { ...vector!, sourceField: 'content.body' } })],
    ['stored hash', {}, ({ metadata }) => ({ metadata: { ...metadata, textHash: 'x' } })],
  ])('is written if another %s makes it differ', (_, request, change) => {
    const records = stored.map((record) => ({ ...record, ...change(record) }));
    expect(actionsOf(again({ skipUnchangedChunks: true }, request, records))).toEqual(
      all(count, 'updated/generated'),
    );
  });

  test('reuses the vector of its own record if only its metadata differs', () => {
    const plan = again({ reuseExistingChunkVectors: true }, { metadata: { a: 1 } });
    expect(actionsOf(plan)).toEqual(all(count, 'updated/reused'));
    expect(plan.chunks.map(({ vectorFrom }) => vectorFrom?.id)).toEqual(stored.map(({ id }) => id));
  });

  test.each([
    ['request', 'p', 'generated'],
    ['partition', 'p', 'reused'],
    ['partition', 'q', 'generated'],
    ['collection', 'q', 'reused'],
  ])('looks for a vector in the %s, seen from partition %s: %s', (vectorReuseScope, partitionKey, found) => {
    const plan = again(
      { reuseExistingChunkVectors: true, vectorReuseScope },
      { partitionKey, documentId: 'e' },
    );
    expect(actionsOf(plan)).toEqual(all(count, `created/${found}`));
  });

  test.each([
    ['request', 'p', 'created/generated'],
    ['partition', 'p', 'deduplicated/deduplicated'],
    ['partition', 'q', 'created/generated'],
    ['collection', 'q', 'deduplicated/deduplicated'],
  ])(
    'looks for a duplicate in the %s, seen from partition %s: %s',
    (chunkDedupeScope, partitionKey, found) => {
      const plan = again(
        { deduplicateExistingChunks: true, chunkDedupeScope },
        { partitionKey, documentId: 'e' },
      );
      expect(actionsOf(plan)).toEqual(all(count, found));
    },
  );

  test('is no duplicate of its own record, nor of a record that its document removes', () => {
    expect(actionsOf(again({ deduplicateExistingChunks: true }))).toEqual(all(count, 'updated/generated'));
    const moved = { text: `Something new before. ${text}` };
    const replacing = { deduplicateExistingChunks: true, replaceDocumentChunks: true };
    const plan = again(replacing, moved);
    expect(plan.stale.length).toBeGreaterThan(0);
    expect(plan.counts.deduplicatedCount).toBe(0);
    expect(again({ deduplicateExistingChunks: true }, moved).counts.deduplicatedCount).toBeGreaterThan(0);
  });

  test('is no duplicate of a record that another model embedded', () => {
    const other = stored.map((record) => ({
      ...record,
      metadata: { ...record.metadata, embeddingModel: 'm' },
    }));
    const plan = again({ deduplicateExistingChunks: true }, { documentId: 'e' }, other);
    expect(actionsOf(plan)).toEqual(all(count, 'created/generated'));
  });

  test('is no duplicate of a record that an earlier item of the batch wrote for its document, and that it removes now', () => {
    const dedupe = { ...options, deduplicateExistingChunks: true, replaceDocumentChunks: true };
    const twice = (more: object) => {
      const known = new RequestRecords();
      const whole = planOf(documentOf({ text, documentId: 'd', options: dedupe }), [], known);
      const moved = documentOf({ text: `Something new before. ${text}`, documentId: 'd', options: more });
      // A dry run has not written the first item: it plans the second alike.
      return [storedAfter(whole), []].map((before) => planOf(moved, before, known.copy()).counts);
    };
    expect(twice(dedupe).map(({ deduplicatedCount }) => deduplicatedCount)).toEqual([0, 0]);
    const kept = twice({ ...dedupe, replaceDocumentChunks: false });
    expect(Math.min(...kept.map(({ deduplicatedCount }) => deduplicatedCount))).toBeGreaterThan(0);
  });

  test('finds the chunks of earlier documents of its batch', () => {
    const known = new RequestRecords();
    const dedupe = { ...options, deduplicateExistingChunks: true, reuseExistingChunkVectors: true };
    planOf(documentOf({ text, documentId: 'd', options: dedupe }), [], known);
    const second = planOf(documentOf({ text, documentId: 'e', options: dedupe }), [], known);
    expect(actionsOf(second)).toEqual(all(count, 'deduplicated/deduplicated'));
    const reuse = { ...options, reuseExistingChunkVectors: true };
    const third = planOf(documentOf({ text, documentId: 'f', options: reuse }), [], known);
    expect(actionsOf(third)).toEqual(all(count, 'created/reused'));
  });
});

test('records of the document that are not in the plan are stale, in the order of their ids', () => {
  const before = storedAfter(planOf(documentOf({ text, documentId: 'd', options })));
  const replacing = { ...options, replaceDocumentChunks: true };
  const plan = planOf(documentOf({ text: 'One.', documentId: 'd', options: replacing }), before);
  expect(plan.stale.map(({ id }) => id)).toEqual(before.map(({ id }) => id).sort());
  expect(plan.stale[0]).toMatchObject({ chunkIndex: 0, etag: 'rev:1', revision: 1 });
  expect(plan.counts).toMatchObject({ chunkCount: 1, createdCount: 1, deletedStaleCount: before.length });
  expect(planOf(documentOf({ text: 'One.', documentId: 'd', options }), before).stale).toEqual([]);
});

describe('the own record of a chunk that another record represents', () => {
  const dedupe = { ...options, deduplicateExistingChunks: true };
  const replacing = { ...dedupe, replaceDocumentChunks: true };
  const secret = { access: 'secret' };
  const [own, other] = ['d', 'e'].map((documentId) =>
    storedAfter(planOf(documentOf({ text, documentId, options }))),
  ) as [StoredChunk[], StoredChunk[]];
  const ids = own.map(({ id }) => id).sort();
  const planWith = (given: object, known = new RequestRecords()) =>
    planOf(
      documentOf({ text, documentId: 'd', metadata: secret, options: given }),
      [...own, ...other],
      known,
    );

  test('is stale, and is kept if the document keeps its records', () => {
    const plan = planWith(replacing);
    expect(plan.stale.map(({ id }) => id)).toEqual(ids);
    expect(plan.counts).toMatchObject({ deduplicatedCount: ids.length, deletedStaleCount: ids.length });
    expect(planWith(dedupe).stale).toEqual([]);
  });

  test('is not stale if it already equals the chunk', () => {
    const same = { text, documentId: 'd', options: { ...replacing, skipUnchangedChunks: true } };
    const plan = planOf(documentOf(same), [...own, ...other]);
    expect([plan.counts.reusedCount, plan.stale]).toEqual([ids.length, []]);
  });

  test('represents no chunk of the same plan', () => {
    // An earlier item of the batch wrote both places of the text; another record stands for the second one now.
    const twice = { text: 'Same words. Same words.', documentId: 'd' };
    const known = new RequestRecords();
    const before = planOf(
      documentOf({ ...twice, options: { chunkChars: 11, chunkOverlapChars: 0 } }),
      [],
      known,
    );
    const again = { ...replacing, chunkChars: 11 };
    const plan = planOf(documentOf({ ...twice, options: again }), storedAfter(before), known);
    const stale = new Set(plan.stale.map(({ id }) => id));
    expect(plan.counts).toMatchObject({ updatedCount: 1, deduplicatedCount: 1, deletedStaleCount: 1 });
    expect(plan.chunks.filter(({ duplicateOf }) => stale.has(duplicateOf?.id ?? ''))).toEqual([]);
  });

  test('represents no chunk of a later document of the batch, dry or not', () => {
    for (const after of [[...own, ...other], other]) {
      const known = new RequestRecords();
      planWith(replacing, known);
      const second = planOf(documentOf({ text, documentId: 'e', options: replacing }), after, known);
      expect(second.counts).toMatchObject({ updatedCount: ids.length, deletedStaleCount: 0 });
    }
  });
});

test('a record that an earlier document of the batch removes represents no later chunk, and lends no vector', () => {
  const known = new RequestRecords();
  const replacing = { ...options, replaceDocumentChunks: true };
  const before = planOf(documentOf({ text, documentId: 'd', options }), [], known);
  const stored = storedAfter(before);
  planOf(documentOf({ text: 'One.', documentId: 'd', options: replacing }), stored, known);
  const more = { ...options, deduplicateExistingChunks: true, reuseExistingChunkVectors: true };
  for (const records of [stored, []]) {
    const later = planOf(documentOf({ text, documentId: 'e', options: more }), records, known.copy());
    expect(actionsOf(later)).toEqual(all(later.chunks.length, 'created/generated'));
  }
});

test('a repeated ingestion writes nothing', () => {
  const words = fc.array(fc.constantFrom('one', 'two. ', 'three\n', '\n\n', 'four '), {
    minLength: 1,
    maxLength: 60,
  });
  const shape = fc.record({
    chunkChars: fc.integer({ min: 5, max: 30 }),
    chunkOverlapChars: fc.integer({ min: 0, max: 4 }),
  });
  fc.assert(
    fc.property(words, shape, (parts, given) => {
      const request = {
        text: `a${parts.join('')}`,
        documentId: 'd',
        options: { ...given, skipUnchangedChunks: true, replaceDocumentChunks: true },
      };
      const first = planOf(documentOf(request));
      const second = planOf(documentOf(request), storedAfter(first));
      return second.stale.length === 0 && second.counts.reusedCount === second.chunks.length;
    }),
  );
});

describe('the manifest', () => {
  const request = { text, documentId: 'd', options: { ...options, persistManifest: true } };
  const plan = planOf(documentOf(request));
  const { id = '', hash = '', json = '' } = plan.manifest ?? {};

  test('is a record with the input of its hash and without text of the document', () => {
    const record = JSON.parse(manifestRecord(plan, plan.manifest!)) as { content: { manifest: object } };
    expect(record).toMatchObject({
      id: 'd-manifest',
      type: 'rag.manifest',
      schemaVersion: 'v1',
      vectors: null,
    });
    expect(record.content.manifest).toMatchObject({
      rawTextIncluded: false,
      manifestHash: hash,
      ingestionPlan: JSON.parse(json) as object,
    });
    expect(JSON.stringify(record)).not.toContain('sentence');
    expect(readRecord(manifestRecord(plan, plan.manifest!), POLICY).key.id).toBe('d-manifest');
  });

  test('is written once for an unchanged document', () => {
    const before = (metadata: object): StoredChunk[] => [
      {
        partitionKey: 'p',
        id,
        type: 'rag.manifest',
        schemaVersion: 'v1',
        contentHash: null,
        metadata: {
          manifestHash: hash,
          documentId: 'd',
          chunkRecordType: 'rag.chunk',
          embeddingModel: MODEL.modelId,
          ...metadata,
        },
        vector: null,
        etag: 'rev:1',
        revision: 1,
      },
    ];
    const skip = { ...request, options: { ...request.options, skipUnchangedChunks: true } };
    const actionOf = (given: object, metadata = {}) =>
      planOf(documentOf(given), before(metadata)).manifest?.action;
    expect([plan.manifest?.action, actionOf(request), actionOf(skip)]).toEqual([
      'created',
      'updated',
      'reused',
    ]);
    expect(actionOf(skip, { manifestHash: 'x' })).toBe('updated');
  });

  test('takes no id of a chunk', () => {
    const manifestId = plan.chunks[0]?.id;
    const clash = { ...request, options: { ...request.options, manifestId } };
    expect(refusalOf(() => planOf(documentOf(clash)))).toMatchObject({
      errors: [{ pointer: '/options/manifestId' }],
    });
  });
});

test('a chunk is a record that the collection accepts, with metadata and spans as received', () => {
  const given =
    '{"partitionKey":"p","documentId":"d","text":"Some text.","metadata":{"z":1.50,"textHash":"mine","1":2},' +
    '"sources":[{"uri":"u","span":{"anchor":"a","charStart":9}}]}';
  const plan = planOf(readDocument(given, POLICY, MODEL));
  const vector = { values: Float32Array.from([0.1, 1, 0, 0, 0, 0, 0, -1]), generatedAt: null };
  const record = chunkRecord(plan, plan.chunks[0]!, vector);
  expect(record).toContain('"metadata":{"z":1.50,"1":2,"documentId":"d"');
  expect(record).toContain('"span":{"charStart":0,"charEnd":10,"chunkIndex":0,"anchor":"a"}');
  expect(record).toContain('"values":[0.1,1,0,0,0,0,0,-1],"dimensions":8,"model":"deterministic-hash-v1"');
  expect(readRecord(record, POLICY).vectors.get('v')?.sourceField).toBe('content.text');
});

test('the answer lists every action, also those without chunks', () => {
  const plan = planOf(documentOf({ text, documentId: 'd', options }));
  const summary = actionSummary(plan);
  expect(summary.actionCounts).toEqual({
    created: plan.chunks.length,
    updated: 0,
    reused: 0,
    deduplicated: 0,
  });
  expect(summary.createdIds).toEqual(plan.chunks.map(({ id }) => id));
  expect(chunkAnswer(plan, plan.chunks[0]!, null)).toMatchObject({ index: 0, etag: null, textLength: 18 });
  const statusOf = (expected: string | null, actual: string | null) =>
    comparePlanHashes('ragIngestPlan', expected, actual).status;
  expect([statusOf(null, 'a'), statusOf('a', null), statusOf('a', 'a'), statusOf('A', 'a')]).toEqual([
    'not_provided',
    'actual_missing',
    'matched',
    'drifted',
  ]);
});
