import { describe, expect, test } from 'vitest';
import type { Moment, RecordData, RecordStore, Scope } from '../../functions/store/port.ts';
import { documents, fullRecord, keyOf, plain, put, randomScope, streamOf } from './store-fixtures.ts';
import type { StoreSuite } from './store-suite.ts';

const of = keyOf('document').id;
const list = { by: 'list', collection: documents, group: 'task', limit: 2 } as const;
const parts = { by: 'parts', collection: documents, of, direction: 'ascending', limit: 9 } as const;
const names = ['a', 'b', 'c', 'd', 'e'];

export function describeSnapshot(suite: StoreSuite): void {
  describe('snapshot', () => {
    test('shows keys, lists and parts of one moment while others write', async () => {
      const store = suite.store();
      const scope = randomScope();
      const before = await written(store, scope, 1);
      const seen = await store.snapshot(scope, async (moment) => {
        const first = await moment.query(list);
        await written(store, scope, 2);
        return {
          listed: [...first.records, ...(await restOf(moment, first.next))],
          ...(await othersOf(moment)),
        };
      });
      // A provider may begin again at a later moment, but never mix two.
      const revision = seen.listed[0]?.head['revision'];
      expect([1, 2]).toContain(revision);
      const expected = revision === 1 ? before : await written(store, scope, 2);
      expect(seen.listed.map(plain)).toEqual(expected.map((record) => plain({ ...record, parts: [] })));
      expect(seen.keyed.map(plain)).toEqual(expected.map(plain));
      expect(seen.filed).toEqual(expected.flatMap((record) => record.parts ?? []));
      const after = await store.snapshot(scope, (moment) => moment.query({ ...list, limit: 9 }));
      expect(after.records.map(({ head }) => head['revision'])).toEqual([2, 2, 2, 2, 2]);
    });

    test('shows the content before a swap or the one after it, and names each', async () => {
      const store = suite.store();
      const scope = randomScope();
      await written(store, scope, 1);
      const swapped = names.map((name) => recordOf(name, 3));
      let isSwapped = false;
      const seen = await store.snapshot(scope, async (moment) => {
        const first = await moment.query(list);
        if (!isSwapped) await store.swap(scope, streamOf(swapped), () => undefined);
        isSwapped = true;
        const rest = await restOf(moment, first.next);
        const heads = [...first.records, ...rest].map(({ head }) => head['revision']);
        return { heads, generation: await moment.generation() };
      });
      const generation = await generationOf(store, scope);
      expect([
        { heads: [1, 1, 1, 1, 1], isNew: false },
        { heads: [3, 3, 3, 3, 3], isNew: true },
      ]).toContainEqual({ heads: seen.heads, isNew: seen.generation === generation });
      await store.swap(scope, streamOf(swapped), () => undefined);
      expect(await generationOf(store, scope)).not.toBe(generation);
    });

    test('a generation lasts from one swap to the next', async () => {
      const store = suite.store();
      const scope = randomScope();
      expect(await generationOf(store, scope)).toBe(await generationOf(store, scope));
      await written(store, scope, 1);
      const generation = await generationOf(store, scope);
      await written(store, scope, 2);
      expect(await generationOf(store, scope)).toBe(generation);
      expect(await generationOf(store, randomScope())).toBe(await generationOf(store, randomScope()));
    });

    test('an error of its reader ends it, and changes nothing in the store', async () => {
      const store = suite.store();
      const scope = randomScope();
      await written(store, scope, 1);
      const failing = store.snapshot(scope, async (moment) => {
        const { records } = await moment.query(list);
        throw new Error(`stop at ${records.length}`);
      });
      await expect(failing).rejects.toThrow('stop at 2');
      await written(store, scope, 2);
      expect((await store.query(scope, list)).records.map(({ head }) => head['revision'])).toEqual([2, 2]);
    });
  });
}

function recordOf(name: string, revision: number): RecordData {
  const order = `${name}-${revision}`;
  return fullRecord(name, { head: { revision }, parts: [{ of, order, body: `{"name":"${name}"}` }] });
}

async function written(store: RecordStore, scope: Scope, revision: number): Promise<RecordData[]> {
  const records = names.map((name) => recordOf(name, revision));
  // Parts are written once, when the record is created.
  const firsts = names.map((name) => ({ ...recordOf(name, revision), parts: recordOf(name, 1).parts ?? [] }));
  await put(store, scope, ...(revision === 1 ? records : firsts));
  return firsts;
}

async function restOf(moment: Moment, next: string | null): Promise<RecordData[]> {
  if (next === null) return [];
  const page = await moment.query({ ...list, after: next });
  return [...page.records, ...(await restOf(moment, page.next))];
}

async function othersOf(moment: Moment) {
  const keys = names.map((name) => ({ key: keyOf(name), view: 'parts' as const }));
  const { records } = await moment.query({ by: 'keys', keys });
  const byId = new Map(records.map((record) => [record.key.id, record]));
  const keyed = names.flatMap((name) => byId.get(keyOf(name).id) ?? []);
  return { keyed, filed: (await moment.query(parts)).parts };
}

function generationOf(store: RecordStore, scope: Scope): Promise<string> {
  return store.snapshot(scope, async (moment) => {
    await moment.query({ by: 'keys', keys: [] });
    return moment.generation();
  });
}
