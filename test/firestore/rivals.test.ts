import { afterAll, describe, expect, test } from 'vitest';
import { transact } from '../conformance/store-fixtures.ts';
import { firestoreMissing, firestoreProject } from '../support/firestore.ts';
import { keyOf, openTestStore, scopeOf } from './fixtures.ts';

describe.skipIf(firestoreMissing !== undefined)(`rivals ${firestoreMissing ?? ''}`, () => {
  const project = firestoreProject();
  const stores = Array.from({ length: 4 }, () => openTestStore({}, project).store);
  const scope = scopeOf('rivals');
  afterAll(async () => {
    for (const store of stores) await store.close();
  });

  test('of 20 callers with one intent on four instances one creates the record, and the others see it', async () => {
    const gate = keyOf('receipt');
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, caller) =>
        transact(
          stores[caller % 4]!,
          scope,
          [{ key: gate, expectAbsent: true }],
          (found) => {
            const before = found.get(gate);
            if (before !== undefined)
              return { writes: [], result: { by: before.head['by'], created: false } };
            return {
              writes: [{ put: { key: gate, head: { by: caller } } }],
              result: { by: caller, created: true },
            };
          },
          gate,
        ),
      ),
    );
    expect(outcomes.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(outcomes.map(({ by }) => by)).size).toBe(1);
  });

  test('8 contenders on one record lose no increment', async () => {
    const key = keyOf('counter');
    const turns = 4;
    await Promise.all(
      Array.from({ length: 8 }, async (_, caller) => {
        for (let turn = 0; turn < turns; turn += 1) {
          await transact(stores[caller % 4]!, scope, [key], (found) => {
            const count = Number(found.get(key)?.head['count'] ?? 0) + 1;
            return { writes: [{ put: { key, head: { count } } }], result: count };
          });
        }
      }),
    );
    const { records } = await stores[0]!.query(scope, { by: 'keys', keys: [{ key }] });
    expect(records[0]?.head['count']).toBe(8 * turns);
  });
});
