import type { GroupHandlers } from '../../http/handler.ts';
import { commitCanonicalTransaction } from './commit/commit-operation.ts';
import { exportCanonicalTenant, restoreCanonicalTenant } from './copies/copy-operations.ts';
import type { CanonicalDependencies } from './dependencies.ts';
import { queryCanonicalDocumentRevisions, readCanonicalDocument } from './document/document-operations.ts';
import { queryCanonicalDocuments } from './document/document-query.ts';
import { readCanonicalFence } from './fence/read-canonical-fence.ts';
import { applyCanonicalMigrations, listCanonicalMigrations } from './migration/migration-operations.ts';
import {
  acknowledgeCanonicalOutbox,
  leaseCanonicalOutbox,
  releaseCanonicalOutbox,
  renewCanonicalOutboxLease,
  replayCanonicalOutbox,
} from './outbox/outbox-operations.ts';
import { queryCanonicalOutbox } from './outbox/outbox-query.ts';
import { preflightCanonicalStore, probeCanonicalStoreDataPlane } from './preflight/preflight-operations.ts';
import { getUsage } from './usage/get-usage.ts';

export { DeliveredRetention } from './outbox/retention.ts';
export { OutboxWaits } from './outbox/wake.ts';

/** The operations of the canonical group over one store. */
export function canonicalHandlers(dependencies: CanonicalDependencies): GroupHandlers<'canonical'> {
  return {
    commitCanonicalTransaction: commitCanonicalTransaction(dependencies),
    readCanonicalDocument: readCanonicalDocument(dependencies),
    queryCanonicalDocuments: queryCanonicalDocuments(dependencies),
    queryCanonicalDocumentRevisions: queryCanonicalDocumentRevisions(dependencies),
    leaseCanonicalOutbox: leaseCanonicalOutbox(dependencies),
    queryCanonicalOutbox: queryCanonicalOutbox(dependencies),
    renewCanonicalOutboxLease: renewCanonicalOutboxLease(dependencies),
    acknowledgeCanonicalOutbox: acknowledgeCanonicalOutbox(dependencies),
    releaseCanonicalOutbox: releaseCanonicalOutbox(dependencies),
    replayCanonicalOutbox: replayCanonicalOutbox(dependencies),
    exportCanonicalTenant: exportCanonicalTenant(dependencies),
    restoreCanonicalTenant: restoreCanonicalTenant(dependencies),
    listCanonicalMigrations: listCanonicalMigrations(dependencies),
    applyCanonicalMigrations: applyCanonicalMigrations(dependencies),
    preflightCanonicalStore: preflightCanonicalStore(dependencies),
    probeCanonicalStoreDataPlane: probeCanonicalStoreDataPlane(dependencies),
    readCanonicalFence: readCanonicalFence(dependencies),
    getUsage: getUsage(dependencies),
  };
}
