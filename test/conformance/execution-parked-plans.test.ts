import { DatabaseSync } from 'node:sqlite';
import { afterEach, expect, test, vi } from 'vitest';
import { executionCollections } from '../../functions/runs/records.ts';
import { DAY_MS, ParkedRuns } from '../support/parked-runs.ts';
import { tested } from './stores/sqlite.ts';

/** How SQLite answers what operations ask beside runs that wait. Spaces and groups of searches hold no runs, and a list of a page is short. */

afterEach(() => vi.restoreAllMocks());

test('no statement of start, lease, list, due read and upkeep walks or sorts a whole table', async () => {
  const open = await tested.create(executionCollections);
  const first = await open();
  const parked = new ParkedRuns(first);
  await parked.park({ many: 500 }, () => parked.world.now + DAY_MS);
  const store = await open();
  const plans = new Map<string, readonly string[]>();
  const prepare = Reflect.get(DatabaseSync.prototype, 'prepare');
  vi.spyOn(DatabaseSync.prototype, 'prepare').mockImplementation(function (this: DatabaseSync, sql, ...more) {
    if (/^\s*(select|insert|update|delete|with)/i.test(sql)) {
      const rows = prepare.call(this, `EXPLAIN QUERY PLAN ${sql}`).all();
      plans.set(
        sql,
        rows.map(({ detail }) => String(detail)),
      );
    }
    return prepare.call(this, sql, ...more);
  });
  const client = parked.clientOver(store, { node: 2 });
  for (const operation of Object.values(parked.operations(client))) await operation();
  expect(plans.size).toBeGreaterThan(10);
  const slow = [...plans].filter(([, steps]) =>
    steps.some((step) => /^SCAN (?!spaces|search_groups|CONSTANT|json_each)|TEMP B-TREE/.test(step)),
  );
  expect(slow).toEqual([]);
  await store.close();
  await first.close();
});
