import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { StoredDocument } from './client.ts';
import { collect } from './collect.fixture.ts';
import {
  CHUNK_BYTES_MAX,
  type Chunk,
  checkFacts,
  chunksOf,
  chunkTransaction,
  decidePublication,
  IMPORT_TYPE,
  type ImportState,
  type Item,
  MANIFEST_TYPE,
  paddedVersion,
  type SourceFacts,
  stagedDocument,
} from './shapes.ts';

const facts: SourceFacts = {
  importId: 'run-7',
  sourceId: 'parts',
  sourceVersion: 42,
  expectedCount: 1,
  sourceHash: 'sha256:00',
};
const item: Item = {
  documentType: 'part',
  id: 'a/b:c',
  schemaVersion: '1',
  data: { name: 'bolt' },
  indexes: { colour: 'red' },
};

function stored(documentType: string, id: string, revision: number, data: object | null): StoredDocument {
  return {
    documentType,
    id,
    revision,
    deleted: data === null,
    data: data as StoredDocument['data'],
    indexes: {},
  };
}

async function* given(items: readonly Item[]) {
  yield* items;
}

async function chunked(items: readonly Item[]): Promise<Chunk[]> {
  return collect(chunksOf(given(items)));
}

const numbered = (count: number, data: object = {}): Item[] =>
  Array.from({ length: count }, (_, n) => ({ ...item, id: String(n), data: { n, ...data } }));

describe('a staged document', () => {
  test('carries its import in data and indexes, source and padded version in indexes, and an id of its own', () => {
    expect(stagedDocument('acme', facts, item)).toEqual({
      tenantId: 'acme',
      documentType: 'part',
      id: 'run-7:a/b:c',
      schemaVersion: '1',
      data: { name: 'bolt', importId: 'run-7' },
      indexes: { colour: 'red', importId: 'run-7', sourceId: 'parts', sourceVersion: '000000000042' },
    });
  });

  test.each([
    ['indexes.importId', { ...item, indexes: { importId: 'x' } }],
    ['indexes.sourceId', { ...item, indexes: { sourceId: 'x' } }],
    ['indexes.sourceVersion', { ...item, indexes: { sourceVersion: 'x' } }],
    ['data.importId', { ...item, data: { importId: 'x' } }],
  ])('cannot be given %s by its item', (_, own) => {
    expect(() => stagedDocument('acme', facts, own)).toThrow('which the import sets');
  });

  test('sorts by version as text the way versions sort as numbers', () => {
    const versions = [0, 9, 10, 99, 100, 999_999_999_999];
    expect(versions.map(paddedVersion).sort()).toEqual(versions.map(paddedVersion));
    expect(new Set(versions.map((version) => paddedVersion(version).length))).toEqual(new Set([12]));
  });
});

describe('chunks', () => {
  test.each([
    [0, []],
    [1, [1]],
    [100, [100]],
    [101, [100, 1]],
    [250, [100, 100, 50]],
  ])('of %i items hold %j', async (count, sizes) => {
    const chunks = await chunked(numbered(count));
    expect(chunks.map(({ items }) => items.length)).toEqual(sizes);
    expect(chunks.map(({ number }) => number)).toEqual(sizes.map((_, n) => n));
    expect(chunks.flatMap(({ items }) => items.map(({ id }) => id))).toEqual(
      numbered(count).map(({ id }) => id),
    );
  });

  test('stay below the bytes of a transaction, counted as UTF-8', async () => {
    const text = '€'.repeat(100_000);
    const chunks = await chunked(numbered(20, { text }));
    const sizes = chunks.map(({ items }) => Buffer.byteLength(JSON.stringify(items.map(({ data }) => data))));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(CHUNK_BYTES_MAX + 1000);
    expect(chunks.map(({ items }) => items.length)).toEqual([6, 6, 6, 2]);
  });

  test('one item larger than a chunk is a chunk: the service is to say what is too large', async () => {
    const large = { ...item, data: { text: 'x'.repeat(CHUNK_BYTES_MAX + 1) } };
    expect((await chunked([item, large, item])).map(({ items }) => items.length)).toEqual([1, 1, 1]);
  });

  test('have the same key and the same content in every attempt, and another key each', async () => {
    const attempt = async () =>
      (await chunked(numbered(250))).map((chunk) => chunkTransaction('acme', facts, chunk));
    const first = await attempt();
    expect(await attempt()).toEqual(first);
    expect(first.map(({ idempotencyKey }) => idempotencyKey)).toEqual([
      'run-7:chunk:000000000',
      'run-7:chunk:000000001',
      'run-7:chunk:000000002',
    ]);
    expect(first.every(({ mutations }) => mutations.length <= 100)).toBe(true);
  });
});

describe('the decision about publishing', () => {
  const record = (state: ImportState, removed = false) =>
    stored(IMPORT_TYPE, 'run-7', 1, { ...facts, state, removed });
  const manifest = (sourceVersion: number, importId = 'run-6') =>
    stored(MANIFEST_TYPE, 'parts', 5, { ...facts, importId, sourceVersion, status: 'published' });
  const decide = (state: ImportState, current: StoredDocument | null, removed = false) =>
    decidePublication('acme', facts, record(state, removed), current);

  test.each<[ImportState, boolean, object]>([
    ['published', false, { kind: 'published' }],
    ['superseded', false, { kind: 'published' }],
    ['superseded', true, { kind: 'published' }],
    ['abandoned', false, { kind: 'refused', reason: 'abandoned' }],
    ['abandoned', true, { kind: 'refused', reason: 'abandoned' }],
  ])('of an import that is %s (removed: %s): %j', (state, removed, expected) => {
    for (const current of [null, manifest(41), manifest(43)]) {
      expect(decide(state, current, removed)).toEqual(expected);
    }
  });

  test('nothing, where readers see a later version', () => {
    expect(decide('staging', manifest(43))).toEqual({ kind: 'refused', reason: 'outdated' });
  });

  test('the first version: manifest, record, fence and event in one commit', () => {
    expect(decide('staging', null)).toEqual({
      kind: 'commit',
      transaction: {
        idempotencyKey: 'run-7:publish',
        mutations: [
          {
            operation: 'upsert',
            document: {
              tenantId: 'acme',
              documentType: 'canon.source.manifest',
              id: 'parts',
              schemaVersion: '1',
              data: { ...facts, status: 'published' },
              indexes: { sourceId: 'parts', sourceVersion: '000000000042', status: 'published' },
            },
            precondition: { mustNotExist: true },
          },
          {
            operation: 'upsert',
            document: {
              tenantId: 'acme',
              documentType: 'canon.source.import',
              id: 'run-7',
              schemaVersion: '1',
              data: { ...facts, state: 'published', removed: false },
              indexes: { sourceId: 'parts', sourceVersion: '000000000042', state: 'published' },
            },
            precondition: { expectedRevision: 1 },
          },
        ],
        fences: [
          {
            operation: 'claim',
            name: 'canon.source.version',
            value: 'parts@000000000042',
            ownerDocumentType: 'canon.source.import',
            ownerDocumentId: 'run-7',
          },
        ],
        outbox: [{ topic: 'canon.source.published', key: 'parts', payload: facts }],
      },
    });
  });

  test.each([41, 42])(
    'after version %i: at the revision looked at, and the older import is superseded',
    (version) => {
      const decision = decide('staging', manifest(version));
      if (decision.kind !== 'commit') throw new Error(decision.kind);
      const [first, , third, ...more] = decision.transaction.mutations;
      expect(first).toMatchObject({ document: { id: 'parts' }, precondition: { expectedRevision: 5 } });
      expect(third).toMatchObject({
        document: {
          id: 'run-6',
          data: { importId: 'run-6', sourceVersion: version, state: 'superseded', removed: false },
          indexes: { state: 'superseded', cleanUp: 'due' },
        },
      });
      expect(more).toEqual([]);
    },
  );

  test('after a manifest that was deleted: its revision line goes on', () => {
    const decision = decide('staging', stored(MANIFEST_TYPE, 'parts', 6, null));
    expect(decision).toMatchObject({
      transaction: { mutations: [{ precondition: { expectedRevision: 6 } }, {}] },
    });
  });
});

test('the page about staged import shows what is sent', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/staged-import.md'), 'utf8');
  const blocks = [...page.matchAll(/^```json\n(.*?)^```$/gms)].map(
    ([, text = '']) => JSON.parse(text) as unknown,
  );
  const shown: SourceFacts = {
    importId: 'parts-2-tuesday',
    sourceId: 'parts-catalogue',
    sourceVersion: 2,
    expectedCount: 10_000,
    sourceHash: 'sha256:3f0b9c1e5a7d2486c90e1b7f4d3a5c682e9f0b1d7c4a83265fe0d9b8a7164c35',
  };
  const part: Item = {
    documentType: 'part',
    id: 'SKU-0000007',
    schemaVersion: '1',
    data: { name: 'gasket no. 7', priceCents: 361 },
    indexes: { category: 'gasket' },
  };
  const before = { ...shown, importId: 'parts-1-monday', sourceVersion: 1 };
  const decision = decidePublication(
    'acme',
    shown,
    stored(IMPORT_TYPE, shown.importId, 1, { ...shown, state: 'staging', removed: false }),
    stored(MANIFEST_TYPE, shown.sourceId, 1, { ...before, status: 'published' }),
  );
  if (decision.kind !== 'commit') throw new Error(decision.kind);
  const { transaction } = decision;
  const documents = transaction.mutations.map((mutation) =>
    'document' in mutation ? mutation.document : null,
  );
  const words = [
    'the manifest',
    'the import record, published',
    'the record of the import that was published before, superseded',
  ];
  const mutations = transaction.mutations.map((mutation, n) => ({ ...mutation, document: words[n] }));
  const staged = stagedDocument('acme', shown, part);
  expect(blocks).toEqual([staged, documents[0], documents[1], { ...transaction, mutations }]);
  expect(documents[2]).toMatchObject({ id: 'parts-1-monday', data: { state: 'superseded' } });
});

test.each([
  ['importId', { importId: 'a:b' }],
  ['importId', { importId: '' }],
  ['importId', { importId: 'x'.repeat(65) }],
  ['sourceId', { sourceId: 'a@b' }],
  ['sourceVersion', { sourceVersion: -1 }],
  ['sourceVersion', { sourceVersion: 1.5 }],
  ['sourceVersion', { sourceVersion: 10 ** 12 }],
  ['sourceVersion', { sourceVersion: Number.NaN }],
  ['expectedCount', { expectedCount: -1 }],
])('%s is refused: %j', (member, change) => {
  expect(() => checkFacts({ ...facts, ...change })).toThrow(member);
  expect(() => checkFacts(facts)).not.toThrow();
});
