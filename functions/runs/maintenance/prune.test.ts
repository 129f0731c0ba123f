import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ExecutionClient, executionInstance } from '../../../test/support/execution.ts';
import { machine } from '../../compose/machine.ts';
import { openSqliteStore } from '../../store/sqlite/store.ts';
import { executionCollections } from '../records.ts';
import { pruneAll } from './prune.ts';

test('a prune whose process stops reads no further through the runs that it retains', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-prune-'));
  const path = join(folder, 'x.sqlite');
  const store = await openSqliteStore({ path, ...machine, collections: executionCollections });
  const stopping = new AbortController();
  let pages = 0;
  // A method is looked up once for each call.
  const counting = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name === 'query') pages += 1;
      if (name === 'query' && pages === 8) stopping.abort();
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const instance = executionInstance(store, { external: [{ handlerId: 'h' }] });
  const client = new ExecutionClient(instance);
  for (let n = 0; n < 450; n += 1) await client.cancel((await client.start({ handlerId: 'h' })).id);
  const runtime = { ...instance.runtime, store: () => Promise.resolve(counting) };
  const whole = { deadline: Number.MAX_SAFE_INTEGER, retainTerminalRuns: 1_000 };
  expect((await pruneAll(instance.runtime, 0, whole)).more).toBe(false);
  const stopped = await pruneAll(runtime, 0, { ...whole, signal: stopping.signal });
  // One for each of the five statuses, and one more for each hundred runs.
  expect([stopped.more, pages]).toEqual([true, 8]);
  await store.close();
  await rm(folder, { recursive: true });
});
