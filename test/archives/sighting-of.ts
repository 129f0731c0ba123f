import type { TenantSnapshot } from '../../functions/groups/canonical/copies/snapshot/snapshot.ts';
import { exportTenant } from '../../functions/groups/canonical/copies/tenant-copies.ts';
import { type RecordStore, StoreError } from '../../functions/store/port.ts';
import { START } from '../support/canonical.ts';
import type { Chronicle } from './chronicle.ts';
import { ITEM } from './eras.ts';
import { snapshotFaults } from './snapshot-faults.ts';
import { readView } from './traffic-requests.ts';

/** A copy of the tenant, which is seen as any other answer is, and shows more. */
export async function sightingOf(
  chronicle: Chronicle,
  store: RecordStore,
  tenantId: string,
): Promise<TenantSnapshot | undefined> {
  const called = chronicle.tick();
  try {
    const snapshot = await exportTenant(store, tenantId, { now: START + called });
    addSighting(chronicle, snapshot, called, chronicle.tick());
    return snapshot;
  } catch (error) {
    if (!(error instanceof StoreError) || error.failure !== 'corrupt') throw error;
    // Some contradictions an export finds by itself.
    chronicle.faults.push(`copy at ${called}: ${error.message}`);
    return undefined;
  }
}

export function addSighting(
  chronicle: Chronicle,
  snapshot: TenantSnapshot,
  called: number,
  returned: number,
): void {
  const items = snapshot.documents.filter(({ documentType }) => documentType === ITEM);
  const { faults, ...seen } = readView(items);
  const what = `copy at ${called}`;
  for (const fault of [...faults, ...snapshotFaults(snapshot)]) chronicle.faults.push(`${what}: ${fault}`);
  chronicle.sightings.push({ what, called, returned, ...seen });
}
