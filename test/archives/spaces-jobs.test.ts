import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { batchUpsert } from '../../functions/collections/batch-upsert.ts';
import { tallySpace } from '../../functions/collections/copies/export-space.ts';
import { restoreSpace } from '../../functions/collections/copies/restore-space.ts';
import { type ImportJob, importCollection } from '../../functions/collections/import-collection.ts';
import { createRecordParts, type RecordParts } from '../../functions/collections/parts.ts';
import { createCollection, removeCollection } from '../../functions/collections/pointers.ts';
import { readCollection } from '../../functions/collections/read-policy.ts';
import { sweepRetired } from '../../functions/collections/retired.ts';
import { readPolicy } from '../../functions/collections/rules/policy.ts';
import { RECORDS } from '../../functions/collections/store-collections.ts';
import { writeChunk } from '../../functions/collections/write-chunk.ts';
import { changed } from '../../functions/groups/canonical/preflight/preflight-stores.fixture.ts';
import type { KeysSelection, ListSelection, RecordStore, Scope } from '../../functions/store/port.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { leftOut, type Provider, providers, type TestDatabase } from './databases.ts';
import { archived, listed } from './spaces.ts';

/** A restore of a space beside the sweep of deleted collections and beside jobs that write meanwhile. */

const MINUTE = 60_000;
const LIMITS = { readsPerCallMax: 5_000, pageRecordsMax: 1_000, answerBytesMax: 10_000_000 };
const POLICY = readPolicy({ name: 'notes', indexedMetadata: ['/metadata/kind'] });
const WHOLE = { isOver: () => false, isRunActive: () => Promise.resolve(false) };

const texts = (count: number, marker: string) =>
  Array.from(
    { length: count },
    (_, n) => `{"id":"note-${n}","partitionKey":"p","metadata":{"kind":"${marker}"}}`,
  );

function partsOn(store: RecordStore, world: ManualWorld): RecordParts {
  return createRecordParts({ store: () => Promise.resolve(store), world, limits: LIMITS });
}

/** A collection of 130 records, more than one page of a sweep, and an archive of its space. */
async function prepared(store: RecordStore, space: string) {
  const world = new ManualWorld();
  // Counted bytes give two spaces of one database the same incarnations, which a restore must cope with.
  const parts = partsOn(store, world);
  await createCollection(parts, space, POLICY);
  await write(parts, space, texts(130, 'archived'));
  const { objects, manifest } = await archived(store, space);
  const restore = () => restoreSpace(store, objects, space, { replace: true });
  const expectRestored = async () => {
    expect((await tallySpace(store, space)).contentHash()).toBe(manifest.snapshotContentHash);
    const { incarnation } = (await readCollection(parts, space, 'notes')) ?? { incarnation: null };
    expect(incarnation === null ? 0 : (await listed(store, space, incarnation)).length).toBe(130);
  };
  return { world, parts, restore, expectRestored };
}

async function write(parts: RecordParts, space: string, items: readonly string[]): Promise<void> {
  for (let done = 0; done < items.length; ) {
    const rest = items.slice(done).map((text) => ({ text }));
    done += (await writeChunk(parts, space, { name: 'notes' }, rest, { continueOnError: false })).length;
  }
}

/** Restores the space after the first chunk of the job. */
function jobOf(space: string, text: string, afterChunk: () => Promise<unknown>): ImportJob {
  let isFirst = true;
  return {
    runId: `run-of-${space}`,
    space,
    collection: 'notes',
    text: () => Promise.resolve(text),
    signal: new AbortController().signal,
    decide: () => Promise.resolve(),
    judgeReplacement: () => undefined,
    async progress() {
      if (isFirst) await afterChunk();
      isFirst = false;
    },
  };
}

const nothing = () => Promise.resolve();
const importText = (replaceExisting: boolean) =>
  JSON.stringify({
    snapshot: {
      collection: 'notes',
      policy: POLICY,
      records: texts(250, 'imported').map((each) => JSON.parse(each)),
    },
    replaceExisting,
  });
const batchText = JSON.stringify({ records: texts(250, 'imported').map((each) => JSON.parse(each)) });

describe.each(providers.map((provider) => ({ provider, name: `${provider.name}${leftOut(provider)}` })))(
  'a restored space on $name',
  ({ provider }) => {
    const opened = onDatabase(provider);
    const it = test.skipIf(provider.missing !== undefined);

    it('keeps a collection that was deleted before, although its sweep was planned', async () => {
      const { world, parts, restore, expectRestored } = await prepared(opened(), 'planned');
      await removeCollection(parts, 'planned', 'notes');
      await restore();
      await expectRestored();
      world.now += 11 * MINUTE;
      expect(await sweepRetired(parts, WHOLE)).toEqual({ collections: 1, records: 0 });
      await expectRestored();
      await removeCollection(parts, 'planned', 'notes');
      world.now += 11 * MINUTE;
      expect(await sweepRetired(parts, WHOLE)).toEqual({ collections: 1, records: 130 });
    });

    it('keeps a collection that is restored in the middle of its sweep', async () => {
      const { world, parts, restore, expectRestored } = await prepared(opened(), 'middle');
      await removeCollection(parts, 'middle', 'notes');
      world.now += 11 * MINUTE;
      let pages = 0;
      const query = async (scope: Scope, selection: KeysSelection | ListSelection) => {
        const page = await opened().query(scope, selection);
        if (scope.name === 'middle' && selection.by === 'list' && selection.collection === RECORDS)
          pages += 1;
        // Between the page and the transaction that removes it.
        if (pages === 2) await restore();
        return page;
      };
      await sweepRetired(partsOn(changed(opened(), { query: query as RecordStore['query'] }), world), WHOLE);
      expect(pages).toBeGreaterThan(1);
      await expectRestored();
    });

    it('ends an import that replaces a collection; the next attempt begins it again', async () => {
      const { parts, restore, expectRestored } = await prepared(opened(), 'replacing');
      const call = importCollection(parts, jobOf('replacing', importText(true), restore));
      await expect(call).rejects.toMatchObject({ code: 'lease_not_active' });
      await expectRestored();
      const result = await importCollection(parts, jobOf('replacing', importText(true), nothing));
      expect([result.policyStatus, result.records.succeeded]).toEqual(['replaced', 250]);
      const { incarnation } = (await readCollection(parts, 'replacing', 'notes')) ?? {};
      expect(incarnation && (await listed(opened(), 'replacing', incarnation)).length).toBe(250);
    });

    it('ends an import and a batch; the next attempt writes all of it', async () => {
      for (const [space, text, run] of [
        ['adding', importText(false), importCollection],
        ['batch', batchText, batchUpsert],
      ] as const) {
        const { parts, restore, expectRestored } = await prepared(opened(), space);
        const call = run(parts, jobOf(space, text, restore));
        await expect(call).rejects.toMatchObject({ code: 'lease_not_active' });
        await expectRestored();
        await run(parts, jobOf(space, text, nothing));
        const { incarnation } = (await readCollection(parts, space, 'notes')) ?? {};
        expect(incarnation && (await listed(opened(), space, incarnation)).length).toBe(250);
      }
    });
  },
);

/** A database of the provider, from before the first test of the block to after the last. */
function onDatabase(provider: Provider): () => RecordStore {
  let opened: { readonly database: TestDatabase; readonly store: RecordStore } | undefined;
  beforeAll(async () => {
    if (provider.missing !== undefined) return;
    const database = await provider.create();
    opened = { database, store: await database.open() };
  });
  afterAll(async () => {
    await opened?.store.close();
    await opened?.database.drop();
  });
  return () => {
    if (opened === undefined) throw new Error('there is no database');
    return opened.store;
  };
}
