import { expect, test, vi } from 'vitest';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import type { ByteOwner } from '../store/port.ts';
import { addUse, ownersPage } from './usage-store.ts';

test('owners of one kind are each met once, in pages that read at most two lists however many others there are', async () => {
  const store = new MemoryStore(new MemoryDatabase());
  const owners = (kind: ByteOwner['kind'], count: number) =>
    Array.from({ length: count }, (_, index): ByteOwner => ({ kind, name: `${kind}-${index}` }));
  const spaces = owners('spaces', 60);
  const use = { data: 1, runs: 0 };
  for (const owner of owners('tenants', 1_000)) await addUse(store, owner, 0, use);
  for (const owner of spaces) for (const shard of [0, 1, 3]) await addUse(store, owner, shard, use);
  const queries = vi.spyOn(store, 'query');
  const met: string[] = [];
  let pages = 0;
  for (let after: string | null = null; ; pages += 1) {
    queries.mockClear();
    const page = await ownersPage(store, 'spaces', after);
    expect(queries.mock.calls.length).toBeLessThanOrEqual(2);
    met.push(...page.names);
    if (page.next === null) break;
    after = page.next;
  }
  expect(met.toSorted()).toEqual(spaces.map(({ name }) => name).toSorted());
  expect(pages).toBeGreaterThan(5);
});

test('a page that holds no owner of the kind has a next one', async () => {
  const store = new MemoryStore(new MemoryDatabase());
  for (let index = 0; index < 150; index += 1)
    await addUse(store, { kind: 'tenants', name: String(index) }, 0, { data: 1, runs: 0 });
  const first = await ownersPage(store, 'spaces', null);
  expect(first).toEqual({ names: [], next: expect.any(String) });
  expect(await ownersPage(store, 'spaces', first.next)).toEqual({ names: [], next: null });
});
