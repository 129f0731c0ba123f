import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { machine } from '../../compose/machine.ts';
import type { RecordData, Scope } from '../port.ts';
import { recordId } from '../record-id.ts';
import { openSqliteStore } from './store.ts';

const scope: Scope = { kind: 'system', name: 'test' };

test('a scan lets others in between two pages', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sqlite-'));
  const store = await openSqliteStore({ path: join(folder, 'store.db'), ...machine });
  try {
    const records = Array.from({ length: 5 }, (_, n): RecordData => {
      return { key: { collection: 'things', id: recordId(String(n)) }, head: { n } };
    });
    await store.swap(
      scope,
      (async function* () {
        yield* records;
      })(),
      () => undefined,
    );
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
    expect(new Set(seen).size).toBe(5);
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
});
