import { expect, test, vi } from 'vitest';
import type { RecordData } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';
import { boundedMemory } from './bounded-store.fixture.ts';
import { recount } from './recount.ts';
import { addUse, readUse } from './usage-store.ts';

const owner = { kind: 'tenants', name: 'a' } as const;
const runs = { scope: { kind: 'system', name: 'execution' }, collections: ['runs'] } as const;

async function furnished() {
  const { store, meter } = boundedMemory();
  const put = (scope: Parameters<typeof store.transact>[0], record: RecordData, name = 'a') =>
    store.transact(scope, { keys: [{ key: record.key }] }, () => ({
      writes: [{ put: record }],
      result: null,
      owner: { kind: 'tenants', name },
    }));
  for (let n = 0; n < 250; n += 1) {
    const key = { collection: 'documents', id: recordId(String(n)) };
    await put({ kind: 'tenants', name: 'a' }, { key, head: {}, body: 'x'.repeat(n) });
  }
  const runKey = (id: string) => ({ collection: 'runs', id: recordId(id) });
  await put(runs.scope, { key: runKey('1'), head: {}, body: 'mine' });
  await put(runs.scope, { key: runKey('2'), head: {}, body: 'of another' }, 'b');
  await meter.flush();
  const again = () => recount(store, owner, ['documents', 'events'], runs);
  return { store, again, use: () => readUse(store, owner) };
}

test.each([
  ['less', -5_000],
  ['more', 5_000],
])('an owner whose count is %s than it has stored is counted again', async (_, lost) => {
  const { store, again, use } = await furnished();
  const right = await use();
  expect(right).toEqual({ data: 250 * 256 + (249 * 250) / 2, runs: 256 + 4 });
  const wrong = { data: right.data + lost, runs: right.runs + 3 * lost };
  await addUse(store, owner, 1, { data: lost, runs: 3 * lost });
  expect(await again()).toEqual({ before: wrong, found: right });
  expect(await use()).toEqual(right);
});

test('a right count stays, and nothing is written', async () => {
  const { store, again, use } = await furnished();
  const right = await use();
  const written = vi.spyOn(store, 'transact');
  expect(await again()).toEqual({ before: right, found: right });
  expect(written).not.toHaveBeenCalled();
});
