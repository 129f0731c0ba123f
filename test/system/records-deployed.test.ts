import { expect, test } from 'vitest';
import { RECORDS, spaceScope } from '../../functions/collections/store-collections.ts';
import { RETIRED_COLLECTIONS, UPKEEP_SCOPE } from '../../functions/collections/upkeep-collections.ts';
import { declaredCollections } from '../../functions/compose/collections.ts';
import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import type { RecordStore, Scope } from '../../functions/store/port.ts';
import { SvcClient } from '../../sdk/typescript/src/index.ts';
import { firestoreMissing, firestoreOptions, firestoreProject } from '../support/firestore.ts';
import { BuiltDeployment } from './records-deployed.ts';
import { importOf, inputsOf, policyOf, startersOf, untilUnderWay } from './records-work.ts';

const OLD = 120;
const NEW = 2_000;
/** A sweep waits until no call can know the old records any more. */
const REST_MINUTES = 11;

const missing = firestoreMissing === undefined ? '' : `, left out: ${firestoreMissing}`;

test.skipIf(missing !== '')(
  `functions create, fill, replace and sweep a collection, and a worker is killed${missing}`,
  async () => {
    const projectId = firestoreProject();
    await using cloud = new BuiltDeployment(projectId);
    // Only the lease of the killed worker ends.
    await cloud.start({ ExecutionRuntime__LeaseSeconds: '10' });
    const client = new SvcClient({ baseUrl: cloud.url });
    const store = openFirestoreStore({ ...firestoreOptions(projectId), collections: declaredCollections });
    try {
      await fill(client);
      await replaceKilled(cloud, client);
      await sweep(cloud, client, store);
      await searchVectors(client);
    } finally {
      await store.close();
    }
  },
);

async function fill(client: SvcClient): Promise<void> {
  const { id } = await client.createCollection(policyOf('library'));
  expect(await client.waitForExecutionRun(id)).toMatchObject({ status: 'succeeded', error: null });
  const job = await client.startRecordBatchUpsertJob('library', { records: inputsOf(OLD, 1) });
  const ended = { status: 'succeeded', succeeded: OLD, failed: 0 };
  expect(await client.waitForRecordImportJob(job.id)).toMatchObject(ended);
  expect(await editions(client)).toEqual([1]);
}

/** A worker dies while it replaces the collection; another one continues and counts each record once. */
async function replaceKilled(cloud: BuiltDeployment, client: SvcClient): Promise<void> {
  const request = importOf('library', inputsOf(NEW, 2), { replaceExisting: true });
  const options = { idempotencyKey: 'second edition' };
  const { id } = await client.startCollectionImportJob('library', request, {}, options);
  await untilUnderWay(client, id);
  await cloud.kill('worker');
  const job = await client.getRecordImportJob(id);
  expect(job).toMatchObject({ status: 'running', requested: NEW });
  expect(job?.attempted).toBeLessThan(NEW);
  expect(await editions(client)).toEqual([1]);
  await cloud.begin('worker');
  const whole = { status: 'succeeded', requested: NEW, attempted: NEW, succeeded: NEW, failed: 0 };
  const ended = await client.waitForRecordImportJob(id);
  expect(ended).toMatchObject({ ...whole, importResult: { policyStatus: 'replaced', recordCount: NEW } });
  const items = ended?.importResult?.records.items ?? [];
  expect(items.map(({ index }) => index)).toEqual(Array.from({ length: NEW }, (_, index) => index));
  expect(new Set(items.map(({ revision }) => revision))).toEqual(new Set([1]));
  expect(await startersOf(cloud.url, id)).toHaveLength(2);
  const again = await client.startCollectionImportJob('library', request, {}, options);
  expect([again.id, again.admission.replayed]).toEqual([id, true]);
  expect(await editions(client)).toEqual([2]);
  expect(await client.inspectCollection('library')).toMatchObject({ recordCount: NEW });
}

async function sweep(cloud: BuiltDeployment, client: SvcClient, store: RecordStore): Promise<void> {
  const { id } = await client.deleteCollection('library');
  expect(await client.waitForExecutionRun(id)).toMatchObject({ status: 'succeeded', error: null });
  expect(await client.getCollectionPolicy('library')).toBeNull();
  expect(await client.listCollections()).toEqual([]);
  // A call that knows the old records may still be under way.
  expect(await cloud.prune(0)).toMatchObject({ retiredCollections: 0, retiredRecords: 0 });
  expect(await countOf(store, spaceScope('default'), RECORDS.name)).toBe(OLD + NEW);
  // One call has a budget of time, and the next one continues.
  for (let minutes = REST_MINUTES; minutes < 60; minutes += 4) {
    await cloud.prune(minutes);
    if ((await countOf(store, UPKEEP_SCOPE, RETIRED_COLLECTIONS.name)) === 0) break;
  }
  expect(await countOf(store, UPKEEP_SCOPE, RETIRED_COLLECTIONS.name)).toBe(0);
  expect(await countOf(store, spaceScope('default'), RECORDS.name)).toBe(0);
}

/** By the index of the database, whose answer the function scores again. */
async function searchVectors(client: SvcClient): Promise<void> {
  const vectorPolicies = [{ name: 'v', path: '/vectors/v/values', dimensions: 2 }];
  const { id } = await client.createCollection({ name: 'shapes', vectorPolicies });
  expect(await client.waitForExecutionRun(id)).toMatchObject({ status: 'succeeded', error: null });
  const shapes = { near: [3, 0], between: [1, 1], far: [-1, 0] };
  for (const [name, values] of Object.entries(shapes))
    await client.upsertRecord('shapes', { id: name, partitionKey: 'p', vectors: { v: { values } } });
  const { items } = await client.searchRecords('shapes', { vector: { field: 'v', value: [1, 0], top: 2 } });
  expect(items.map(({ record, score }) => [record.id, score])).toEqual([
    ['near', 1],
    ['between', 0.70710677],
  ]);
}

async function editions(client: SvcClient): Promise<unknown[]> {
  const found = new Set<unknown>();
  for (const filter of [
    { path: '/metadata/index', value: 7 },
    { path: '/metadata/index', value: OLD - 1 },
  ]) {
    const { items } = await client.queryRecords('library', { filter });
    for (const { metadata } of items) found.add(metadata?.['edition']);
  }
  const { items } = await client.searchRecords('library', { lexical: { query: 'r7', fields: ['/id'] } });
  expect(items).toHaveLength(1);
  for (const { record } of items) found.add(record.metadata?.['edition']);
  return [...found];
}

async function countOf(store: RecordStore, scope: Scope, collection: string): Promise<number> {
  let count = 0;
  for await (const { records } of store.scan(scope, { collections: [collection], pageSize: 500 }))
    count += records.length;
  return count;
}
