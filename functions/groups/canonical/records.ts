import { carriedBy, type OwnedCollection, SERVICE_DATA, TENANT_DATA } from '../../store/ownership.ts';
import type { RecordKey, Scope } from '../../store/port.ts';
import { recordId } from '../../store/record-id.ts';

/**
 * The layout of a tenant's canonical data in the store. Every provider has the same records under the same keys, so a snapshot of one
 * can be restored on any other.
 */
export const DOCUMENTS: OwnedCollection = { name: 'documents', pairedIndexes: true, ...TENANT_DATA };
export const COMMITS: OwnedCollection = { name: 'commits', pairedIndexes: false, ...TENANT_DATA };
export const FENCES: OwnedCollection = { name: 'fences', pairedIndexes: false, ...TENANT_DATA };
export const EVENTS: OwnedCollection = { name: 'events', pairedIndexes: false, ...TENANT_DATA };

export const MIGRATIONS: OwnedCollection = {
  name: 'migrations',
  pairedIndexes: false,
  ...SERVICE_DATA,
};

/** The collections that a provider prepares when it opens. */
export const collections: readonly OwnedCollection[] = [DOCUMENTS, COMMITS, FENCES, EVENTS, MIGRATIONS];

/** The collections of a copy of a tenant. */
export const tenantCollections: readonly OwnedCollection[] = carriedBy('tenant', collections);

export function tenantScope(tenantId: string): Scope {
  return { kind: 'tenants', name: tenantId };
}

/** The migration ledger belongs to the deployment: no snapshot of a tenant holds it, and no restore changes it. */
export const LEDGER_SCOPE: Scope = { kind: 'system', name: 'migrations' };

export const LEDGER_COUNTERS: OwnedCollection = {
  name: 'counters',
  pairedIndexes: false,
  ...SERVICE_DATA,
};

/** The number of migrations, because a count would read the whole ledger. */
export const LEDGER_COUNT: RecordKey = { collection: LEDGER_COUNTERS.name, id: recordId('migrations') };

export function migrationKey(namespace: string, id: string): RecordKey {
  return { collection: MIGRATIONS.name, id: recordId(namespace, id) };
}

export function documentKey(documentType: string, id: string): RecordKey {
  return { collection: DOCUMENTS.name, id: recordId(documentType, id) };
}

/** The key of a receipt, made from the idempotency key. The receipt also holds the revisions of its commit. */
export function commitKey(idempotencyKey: string): RecordKey {
  return { collection: COMMITS.name, id: recordId(idempotencyKey) };
}

/** The key of a fence: a name and a value, such as `policy-number` and `P-1042`. Only one document can claim the pair. */
export function fenceKey(name: string, value: string): RecordKey {
  return { collection: FENCES.name, id: recordId(name, value) };
}

export function eventKey(eventId: string): RecordKey {
  return { collection: EVENTS.name, id: recordId(eventId) };
}
