import type { Firestore } from '@google-cloud/firestore';
import { createClient } from '../../functions/store/firestore/client.ts';
import { FirestoreStore, type FirestoreStoreOptions } from '../../functions/store/firestore/store.ts';
import type { Collection, RecordData, RecordKey, RecordStore, Scope } from '../../functions/store/port.ts';
import { recordId } from '../../functions/store/record-id.ts';
import { firestoreOptions, firestoreProject } from '../support/firestore.ts';

export const documents: Collection = { name: 'documents', pairedIndexes: true };
export const events: Collection = { name: 'events', pairedIndexes: false };

export interface TestStore {
  readonly store: RecordStore;
  readonly client: Firestore;
}

export function openTestStore(
  options: Partial<FirestoreStoreOptions> = {},
  projectId = firestoreProject(),
): TestStore {
  const all = { ...firestoreOptions(projectId), collections: [documents, events], ...options };
  const client = createClient(all);
  return { store: new FirestoreStore(all, client), client };
}

export function scopeOf(name: string): Scope {
  return { kind: 'tenants', name };
}

export function keyOf(name: string, collection = documents): RecordKey {
  return { collection: collection.name, id: recordId(collection.name, name) };
}

export function recordNamed(name: string, changes: Partial<RecordData> = {}): RecordData {
  return { key: keyOf(name), head: { revision: 1 }, ...changes };
}

export async function write(
  store: RecordStore,
  scope: Scope,
  ...records: readonly RecordData[]
): Promise<void> {
  const keys = records.map(({ key }) => ({ key }));
  await store.transact(scope, { keys }, () => ({ writes: records.map((put) => ({ put })), result: null }));
}

export async function* streamOf(records: Iterable<RecordData>): AsyncGenerator<RecordData> {
  for (const record of records) yield record;
}
