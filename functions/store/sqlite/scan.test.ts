import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { machine } from '../../compose/machine.ts';
import type { RecordData, RecordStore, Scope } from '../port.ts';
import { recordId } from '../record-id.ts';
import { openSqliteStore } from './store.ts';

const scope: Scope = { kind: 'system', name: 'test' };

/** A store with `count` records, each with this body. */
async function withRecords(
  count: number,
  body: string | undefined,
  use: (store: RecordStore) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'sqlite-'));
  const store = await openSqliteStore({ path: join(folder, 'store.db'), ...machine });
  async function* records(): AsyncGenerator<RecordData> {
    for (let n = 0; n < count; n += 1) {
      const key = { collection: 'things', id: recordId(String(n)) };
      yield { key, head: { n }, ...(body !== undefined && { body }) };
    }
  }
  try {
    await store.swap(scope, records(), () => undefined);
    await use(store);
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}

test('a scan yields to others between two pages', () =>
  withRecords(5, undefined, async (store) => {
    let others = 0;
    let waiting: NodeJS.Immediate;
    const other = (): void => {
      others += 1;
      waiting = setImmediate(other);
    };
    waiting = setImmediate(other);
    const seen: number[] = [];
    // A reader that does not wait for anything itself.
    for await (const page of store.scan(scope, { collections: ['things'], pageSize: 1 })) {
      expect(page.records).toHaveLength(1);
      seen.push(others);
    }
    clearImmediate(waiting);
    // Those between the reader and the next page, and those between that page and the reader.
    expect(seen.slice(1).map((count, at) => count - (seen[at] ?? 0))).toEqual([2, 2, 2, 2]);
  }));

test('a page is read in one turn, so it ends early where records are large', () =>
  withRecords(40, JSON.stringify('x'.repeat(100_000)), async (store) => {
    const lengths: number[] = [];
    for await (const page of store.scan(scope, { collections: ['things'], pageSize: 300 }))
      lengths.push(page.records.length);
    expect(lengths.reduce((sum, length) => sum + length)).toBe(40);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(6);
  }));
