import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { restoreSpace } from '../../functions/collections/copies/restore-space.ts';
import { machine } from '../../functions/compose/machine.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { patched } from '../conformance/canonical-outbox-tenant.ts';
import { ReindexStage } from '../conformance/records-reindex.ts';
import { boundedAnswers, orderedTexts } from '../conformance/records-search-order.ts';
import { NAME, writeAll } from '../conformance/records-search-stage.ts';
import { RecordsStage, recordCollections } from '../conformance/records-stage.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { archived } from './spaces.ts';

const memory = () => Promise.resolve<RecordStore>(new MemoryStore(new MemoryDatabase()));

const stores = {
  memory,
  async sqlite() {
    const folder = await mkdtemp(join(tmpdir(), 'svc-restored-'));
    const path = join(folder, 'records.sqlite');
    return openSqliteStore({ path, ...machine, collections: recordCollections });
  },
};

/** A space with a collection whose records have no entries, and one whose records have them. */
async function source() {
  const store = await memory();
  const stage = new ReindexStage(store);
  await stage.fill(60);
  return { store, stage, space: stage.stage.space };
}

async function restored(store: RecordStore) {
  const { store: from, space } = await source();
  const { objects } = await archived(from, space);
  await restoreSpace(store, objects, space);
  return new ReindexStage(store, undefined, space);
}

describe('searches of a restored space', () => {
  for (const [name, open] of Object.entries(stores))
    test(`find every record on ${name}, also where the source had no search entries`, async () => {
      const store = await open();
      const stage = await restored(store);
      expect(await stage.verdict()).toBe('equal');
      expect(await stage.answer({ lexical: { query: 'alpha' } })).toHaveLength(24);
      await store.close();
    });

  for (const [name, open] of Object.entries(stores))
    test(`score the same candidates on ${name} as those of the source, where they score few`, async () => {
      const from = await memory();
      const stage = new RecordsStage(from);
      await stage.create({ name: NAME });
      await writeAll(stage, orderedTexts);
      const { objects } = await archived(from, stage.space);
      const store = await open();
      await restoreSpace(store, objects, stage.space);
      const copy = new RecordsStage(store, {}, stage.space);
      expect(await boundedAnswers(copy)).toEqual(await boundedAnswers(stage));
      await store.close();
    });

  test('find nothing where the restore leaves the entries out', async () => {
    const store = await memory();
    const withoutEntries = patched(store, {
      swap: (scope, records, verify) =>
        store.swap(
          scope,
          (async function* () {
            for await (const { search: _, ...record } of records) yield record;
          })(),
          verify,
        ),
    });
    const stage = await restored(withoutEntries);
    expect(await stage.answer({ lexical: { query: 'alpha' } })).toEqual([]);
  });
});

test('an archive is the same before and after a reindexing of a collection', async () => {
  const { store, stage, space } = await source();
  const before = (await archived(store, space)).objects.digests;
  await stage.verdict();
  await stage.sweep();
  expect(await stage.verdict()).toBe('equal');
  expect((await archived(store, space)).objects.digests).toEqual(before);
});
