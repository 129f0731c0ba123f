import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readCollection } from '../../functions/collections/read-policy.ts';
import { decideUpsert } from '../../functions/collections/rules/record-write.ts';
import { newestFormat } from '../../functions/collections/search/formats.ts';
import { spaceScope } from '../../functions/collections/store-collections.ts';
import { findableText, recordData } from '../../functions/collections/stored-record.ts';
import { declaredCollections } from '../../functions/compose/collections.ts';
import { machine } from '../../functions/compose/machine.ts';
import { finished } from '../../functions/kernel/turns.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { RecordsStage } from '../support/records-stage.ts';
import { created } from './records-jobs-collections.ts';

const COUNT = 100_000;
const CHUNK = 5_000;

test('a collection of 100,000 records disappears at once, and is swept in pages', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-record-jobs-large-'));
  const path = join(folder, 'records.sqlite');
  const store = await openSqliteStore({ path, ...machine, grouping: true, collections: declaredCollections });
  const stage = new RecordsStage(store);
  const service = stage.records();
  await import('../../functions/groups/collections/run-collection-job.ts');
  await created(stage, service, 'c');
  const collection = await readCollection(service.records, stage.space, 'c');
  if (collection === null) throw new Error('there is no collection');
  // Straight into the store: a batch of 1,000 at a time would take the test most of its time.
  for (let at = 0; at < COUNT; at += CHUNK) {
    const puts = Array.from({ length: CHUNK }, (_, index) => {
      const text = JSON.stringify({ id: `r${at + index}`, partitionKey: 'p' });
      const input = finished(findableText(collection, text, newestFormat()));
      return { put: recordData(collection, input, decideUpsert(null, null, null, stage.time.now)) };
    });
    const keys = puts.map(({ put }) => ({ key: put.key, expectAbsent: true }));
    await store.transact(spaceScope(stage.space), { keys }, () => ({ writes: puts, result: null }));
  }
  const first = '/collections/c/records/p/r0';
  expect((await service.call('GET', first)).status).toBe(200);
  const calls = stage.storeCalls;
  await service.answer('DELETE', '/collections/c', {}, 202);
  await stage.quiet();
  // The delete costs the same as for an empty collection.
  expect(stage.storeCalls - calls).toBeLessThan(30);
  expect((await service.call('GET', first)).status).toBe(404);
  stage.time.advance(600_000);
  const swept = await service.maintain();
  expect(swept).toMatchObject({ retiredCollections: 1, retiredRecords: COUNT });
  await store.close();
  await rm(folder, { recursive: true });
});
