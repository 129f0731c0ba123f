import { carriedBy, type OwnedCollection, SERVICE_DATA, TENANT_DATA } from '../../store/ownership.ts';
import type { RecordKey, Scope } from '../../store/port.ts';
import { recordId } from '../../store/record-id.ts';

/**
 * How a tenant's canonical data lies in the store: the same records under the same keys in every provider, so that a
 * snapshot made on one is a snapshot of any other.
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

/** What a provider must know of the collections when it opens. */
export const collections: readonly OwnedCollection[] = [DOCUMENTS, COMMITS, FENCES, EVENTS, MIGRATIONS];

/** All that a copy of a tenant carries. */
export const tenantCollections: readonly OwnedCollection[] = carriedBy('tenant', collections);

export function tenantScope(tenantId: string): Scope {
  return { kind: 'tenants', name: tenantId };
}

/** The migration ledger is the deployment's, not a tenant's: no snapshot holds it and no restore touches it. */
export const LEDGER_SCOPE: Scope = { kind: 'system', name: 'migrations' };

export const LEDGER_COUNTERS: OwnedCollection = {
  name: 'counters',
  pairedIndexes: false,
  ...SERVICE_DATA,
};

/** How many migrations the ledger holds: counting them all would read them all. */
export const LEDGER_COUNT: RecordKey = { collection: LEDGER_COUNTERS.name, id: recordId('migrations') };

export function migrationKey(namespace: string, id: string): RecordKey {
  return { collection: MIGRATIONS.name, id: recordId(namespace, id) };
}

export function documentKey(documentType: string, id: string): RecordKey {
  return { collection: DOCUMENTS.name, id: recordId(documentType, id) };
}

/** A commit is found again by its idempotency key: the record is the receipt, and holds the revisions it wrote. */
export function commitKey(idempotencyKey: string): RecordKey {
  return { collection: COMMITS.name, id: recordId(idempotencyKey) };
}

/** A fence is a name and a value, such as `policy-number` and `P-1042`: together they are claimed once. */
export function fenceKey(name: string, value: string): RecordKey {
  return { collection: FENCES.name, id: recordId(name, value) };
}

export function eventKey(eventId: string): RecordKey {
  return { collection: EVENTS.name, id: recordId(eventId) };
}
