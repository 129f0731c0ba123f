import { describe, expect, test } from 'vitest';
import type { KeyRequest, LoadedRecords, RecordStore } from '../../functions/store/port.ts';
import { keyOf, put, randomScope, read, together, transact } from './store-fixtures.ts';
import type { StoreSuite } from './store-suite.ts';

type Check = (store: RecordStore, turns: number) => Promise<void>;

const pointer = keyOf('pointer');
const unguarded = { key: pointer, unguarded: true } as const;
const countIn = (found: LoadedRecords, name: string) => Number(found.get(keyOf(name))?.head['count'] ?? 0);
const counted = (name: string, count: number) => ({ put: { key: keyOf(name), head: { count } } });

/** The port's guarantees on an unguarded key: a decision reads it, and its change causes no conflict. */
export const unguardedChecks: Readonly<Record<string, Check>> = {
  'its change neither spoils the decision nor runs it again': async (store, turns) => {
    const scope = randomScope();
    await put(store, scope, counted('pointer', 0).put);
    let changes = 0;
    const stop = new AbortController();
    const changing = (async () => {
      while (!stop.signal.aborted) {
        changes += 1;
        await transact(store, scope, [pointer], () => ({
          writes: [counted('pointer', changes)],
          result: null,
        }));
      }
    })();
    await together(4, async (index) => {
      for (let turn = 1; turn <= turns * 4; turn += 1) {
        const before = changes;
        let decisions = 0;
        const seen = await transact(store, scope, [unguarded, keyOf(`own-${index}`)], (found) => {
          decisions += 1;
          expect(decisions).toBe(1);
          return { writes: [counted(`own-${index}`, turn)], result: countIn(found, 'pointer') };
        });
        // The change before the last one was durable when the call began.
        expect(seen).toBeGreaterThanOrEqual(before - 1);
        expect(seen).toBeLessThanOrEqual(changes);
      }
    }).finally(() => stop.abort());
    await changing;
  },

  'it is shown as it is, with the view asked for, also where it was expected to be absent': async (store) => {
    const scope = randomScope();
    const shown = (request: KeyRequest) =>
      transact(store, scope, [request, keyOf('other')], (found) => ({
        writes: [counted('other', 1)],
        result: found.get(pointer),
      }));
    expect(await shown(unguarded)).toBeUndefined();
    await put(store, scope, { ...counted('pointer', 7).put, body: '{"a":1}' });
    expect((await shown(unguarded))?.head).toEqual({ count: 7 });
    expect((await shown({ ...unguarded, view: 'body' }))?.body).toBe('{"a":1}');
    expect((await shown({ ...unguarded, expectAbsent: true }))?.head).toEqual({ count: 7 });
  },

  'a decision that writes or removes it is refused whole': async (store) => {
    const scope = randomScope();
    await put(store, scope, counted('pointer', 1).put);
    for (const stray of [counted('pointer', 2), { remove: pointer }]) {
      const writes = [counted('other', 1), stray];
      const call = transact(store, scope, [unguarded, keyOf('other')], () => ({ writes, result: null }));
      await expect(call).rejects.toThrow('unguarded');
    }
    expect((await read(store, scope, pointer))?.head).toEqual({ count: 1 });
    expect(await read(store, scope, keyOf('other'))).toBeUndefined();
  },

  'a key that is also requested without it is guarded, and may be written': async (store, turns) => {
    const pair = ['left', 'right'] as const;
    for (let turn = 0; turn < turns; turn += 1) {
      const scope = randomScope();
      await put(store, scope, ...pair.map((name) => counted(name, 1).put));
      const keys = pair.flatMap((name) => [{ key: keyOf(name), unguarded: true as const }, keyOf(name)]);
      await together(2, (index) =>
        transact(store, scope, index === 0 ? keys : keys.toReversed(), (found) => {
          const both = pair.every((name) => countIn(found, name) === 1);
          return { writes: both ? [counted(pair[index] ?? 'left', 0)] : [], result: null };
        }),
      );
      const { records } = await store.query(scope, {
        by: 'keys',
        keys: pair.map((name) => ({ key: keyOf(name) })),
      });
      expect(records.filter(({ head }) => head['count'] === 1)).toHaveLength(1);
      expect(records).toHaveLength(2);
    }
  },

  'the keys beside it stay guarded: no increment is lost': async (store, turns) => {
    const scope = randomScope();
    await together(4, async (index) => {
      for (let turn = 0; turn < turns; turn += 1) {
        if (index === 0) await put(store, scope, counted('pointer', turn).put);
        await transact(store, scope, [unguarded, keyOf('n')], (found) => {
          const count = countIn(found, 'n') + 1;
          return { writes: [counted('n', count)], result: count };
        });
      }
    });
    expect((await read(store, scope, keyOf('n')))?.head['count']).toBe(4 * turns);
  },

  'it is read at one moment with the others': async (store, turns) => {
    const scope = randomScope();
    const both = (count: number) => [counted('pointer', count), counted('beside', count)];
    await put(store, scope, ...both(0).map((write) => write.put));
    const stop = new AbortController();
    const changing = (async () => {
      for (let count = 1; count <= turns * 4; count += 1)
        await transact(store, scope, [pointer, keyOf('beside')], () => ({
          writes: both(count),
          result: null,
        }));
    })().finally(() => stop.abort());
    while (!stop.signal.aborted) {
      const equal = await transact(store, scope, [unguarded, keyOf('beside'), keyOf('mine')], (found) => ({
        writes: [counted('mine', 1)],
        result: countIn(found, 'pointer') === countIn(found, 'beside'),
      }));
      expect(equal).toBe(true);
    }
    await changing;
  },
};

export function describeUnguarded(suite: StoreSuite): void {
  describe('a key that transact does not guard', () => {
    for (const [title, check] of Object.entries(unguardedChecks))
      test(title, () => check(suite.store(), suite.scale.turns));
  });
}
