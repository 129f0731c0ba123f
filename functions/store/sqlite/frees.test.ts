import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Decision, type RecordKey, type Scope, StoreError } from '../port.ts';
import { recordId } from '../record-id.ts';
import { Connection } from './connection.ts';
import { migrate } from './schema.ts';
import { transactIn } from './transact.ts';

const scope: Scope = { kind: 'tenants', name: 'short' };
const key: RecordKey = { collection: 'runs', id: recordId('run') };
const ending: Decision<string> = {
  writes: [{ put: { key, head: { status: 'failed' }, body: '{}' } }],
  result: 'done',
};

test('on a short disk a call that frees space writes, and any other new data is refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'frees-'));
  const connection = new Connection(join(folder, 'store.db'), { readOnly: false, busyTimeoutMs: 0 });
  migrate(connection);
  const short = () => {
    throw new StoreError('full', 'no room');
  };
  const refused = () => transactIn(connection, 0, scope, { keys: [{ key }] }, () => ending, short);
  expect(refused).toThrow(expect.objectContaining({ failure: 'full' }));
  const freed = transactIn(connection, 0, scope, { keys: [{ key }], frees: true }, () => ending, short);
  expect(freed).toBe('done');
  connection.close();
  await rm(folder, { recursive: true });
});
