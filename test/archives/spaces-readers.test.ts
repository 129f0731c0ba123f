import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exportSpace, tallySpace } from '../../functions/collections/copies/export-space.ts';
import { restoreSpace } from '../../functions/collections/copies/restore-space.ts';
import { policyKey, RECORDS, recordKey, spaceScope } from '../../functions/collections/store-collections.ts';
import { changed } from '../../functions/groups/canonical/preflight/preflight-stores.fixture.ts';
import type { Moment, RecordPage, RecordStore } from '../../functions/store/port.ts';
import { leftOut, type Provider, providers, type TestDatabase } from './databases.ts';
import { Objects } from './objects.ts';
import { fill, incarnation, policy, record, SPACE } from './spaces.ts';

/** Readers and exports beside a restore meet the old space or the new one, and a restore that ends early leaves the old. */

const RECORDS_EACH = 130;

/** Eras share a name and half of their keys, so that a mixture would show. */
function eraOf(n: number) {
  const of = incarnation(n);
  const marker = `"era":${n},"text":"${'word '.repeat(40)}"`;
  return [
    policy('notes', of),
    policy(`only-${n}`, incarnation(100 + n)),
    ...Array.from({ length: RECORDS_EACH + n }, (_, i) => record(of, 'p', `note-${i}`, marker)),
  ];
}

interface Stage {
  readonly database: TestDatabase;
  readonly store: RecordStore;
  readonly reader: RecordStore;
  readonly archives: readonly [Objects, Objects];
  readonly hashes: readonly [string, string];
}

async function prepare(provider: Provider): Promise<Stage> {
  const database = await provider.create();
  const [store, reader] = [await database.open(), await database.open()];
  const made = [];
  for (const n of [1, 2]) {
    const own = `maker-${n}`;
    await fill(store, own, eraOf(n));
    const objects = new Objects();
    // Under the name of the space that the archives are for.
    const renamed = changed(store, { scan: (_, request) => store.scan(spaceScope(own), request) });
    const manifest = await exportSpace(renamed, SPACE, objects, { chunkBytes: 4_096 });
    made.push({ objects, hash: manifest.snapshotContentHash });
  }
  const [one, two] = made as [(typeof made)[0], (typeof made)[0]];
  return { database, store, reader, archives: [one.objects, two.objects], hashes: [one.hash, two.hash] };
}

/** The era of the space by its policy, all its records and one of them; fails on a mixture. */
async function eraIn(store: RecordStore): Promise<number> {
  return store.snapshot(spaceScope(SPACE), async (moment) => {
    const keys = [policyKey('notes'), policyKey('only-1'), policyKey('only-2')].map((key) => ({ key }));
    const { records } = await moment.query({ by: 'keys', keys });
    const held = records.find(({ key }) => key.id === policyKey('notes').id)?.head['incarnation'];
    const n = [1, 2].find((each) => incarnation(each) === held) ?? 0;
    expect(records.map(({ key }) => key.id).sort()).toEqual(
      [policyKey('notes').id, policyKey(`only-${n}`).id].sort(),
    );
    expect(await allListed(moment, n)).toBe(RECORDS_EACH + n);
    expect(await allListed(moment, 3 - n)).toBe(0);
    const key = recordKey(incarnation(n), { partitionKey: 'p', id: 'note-0' });
    const [found] = (await moment.query({ by: 'keys', keys: [{ key, view: 'body' }] })).records;
    expect(found?.body).toContain(`"era":${n}`);
    return n;
  });
}

async function allListed(moment: Moment, n: number): Promise<number> {
  let count = 0;
  let after: string | null = null;
  do {
    const from: { after?: string } = after === null ? {} : { after };
    const page: RecordPage = await moment.query({
      by: 'list',
      collection: RECORDS,
      group: incarnation(n),
      limit: 60,
      ...from,
    });
    count += page.records.length;
    after = page.next;
  } while (after !== null);
  return count;
}

describe.each(providers.map((provider) => ({ provider, name: `${provider.name}${leftOut(provider)}` })))(
  'a space that is restored on $name',
  ({ provider }) => {
    let stage: Stage;
    beforeAll(async () => {
      if (provider.missing === undefined) stage = await prepare(provider);
    });
    afterAll(async () => {
      if (provider.missing !== undefined) return;
      await Promise.all([stage.store.close(), stage.reader.close()]);
      await stage.database.drop();
    });
    const restore = (n: number, source = stage.archives[n - 1] as Objects) =>
      restoreSpace(stage.store, source, SPACE, { replace: true });

    test.skipIf(provider.missing !== undefined)('is the old one until the restore is done', async () => {
      const { archives, reader, hashes } = stage;
      await restore(1);
      const source = archives[1];
      const seen: number[] = [];
      let exported = '';
      let reads = 0;
      await restoreSpace(
        stage.store,
        {
          names: () => source.names(),
          async read(name) {
            reads += 1;
            if (reads % 4 === 0) seen.push(await eraIn(reader));
            if (reads === 5) exported = (await tallySpace(reader, SPACE)).contentHash();
            return source.read(name);
          },
        },
        SPACE,
        { replace: true },
      );
      expect(new Set(seen)).toEqual(new Set([1]));
      expect([seen.length > 10, exported]).toEqual([true, hashes[0]]);
      expect(await eraIn(reader)).toBe(2);
    });

    test.skipIf(provider.missing !== undefined)(
      'is of one era to each of two readers and to exports',
      async () => {
        const { reader, hashes } = stage;
        await restore(1);
        const seen = [0, 0, 0];
        const restored = new AbortController();
        const read = async () => {
          while (!restored.signal.aborted) {
            const n = await eraIn(reader);
            seen[n] = (seen[n] ?? 0) + 1;
            await turn();
          }
        };
        const exporting = async () => {
          while (!restored.signal.aborted) {
            expect(hashes).toContain((await tallySpace(reader, SPACE)).contentHash());
            await turn();
          }
        };
        const beside = [read(), read(), exporting()];
        const count = () => (seen[1] ?? 0) + (seen[2] ?? 0);
        const restores = (async () => {
          // On a loaded machine readers look seldom, so the restores continue until they have looked.
          do for (const n of [2, 1]) await restore(n);
          while (count() <= 4);
        })().finally(() => restored.abort());
        await Promise.all([restores, ...beside]).finally(() => restored.abort());
        expect(count()).toBeGreaterThan(4);
        expect(seen[0]).toBe(0);
        expect(await eraIn(reader)).toBe(1);
      },
    );

    test.skipIf(provider.missing !== undefined)('stays as it was when the restore ends early', async () => {
      const { reader, store, archives, hashes } = stage;
      await restore(1);
      for (const at of [1, 2, RECORDS_EACH, RECORDS_EACH + 4]) {
        const controller = new AbortController();
        const onProgress = ({ step, records }: { readonly step: string; readonly records: number }) => {
          if (step === 'restoring' && records === at) controller.abort(new Error('it was stopped'));
        };
        const how = { replace: true, signal: controller.signal, onProgress };
        const call = restoreSpace(store, archives[1], SPACE, how);
        // The last record is not followed by another at which to stop.
        if (at < RECORDS_EACH + 4) await expect(call).rejects.toThrow('it was stopped');
        else await call;
        expect(await eraIn(reader)).toBe(at < RECORDS_EACH + 4 ? 1 : 2);
      }
      await restore(1);
      const stopped = AbortSignal.abort(new Error('it was stopped'));
      await expect(exportSpace(store, SPACE, new Objects(), { signal: stopped })).rejects.toThrow('stopped');
      await store.sweep(spaceScope(SPACE));
      expect((await tallySpace(reader, SPACE)).contentHash()).toBe(hashes[0]);
    });
  },
);
