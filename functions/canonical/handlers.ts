import type { GroupHandlers } from '../http/handler.ts';
import { commitCanonicalTransaction } from './commit-operation.ts';
import type { CanonicalDependencies } from './dependencies.ts';
import { queryCanonicalDocumentRevisions, readCanonicalDocument } from './document-operations.ts';
import {
  acknowledgeCanonicalOutbox,
  leaseCanonicalOutbox,
  releaseCanonicalOutbox,
  renewCanonicalOutboxLease,
  replayCanonicalOutbox,
} from './outbox-operations.ts';
import { queryCanonicalOutbox } from './outbox-query.ts';

/** The operations of the canonical group over one store. */
export function canonicalHandlers(dependencies: CanonicalDependencies): GroupHandlers<'canonical'> {
  return {
    commitCanonicalTransaction: commitCanonicalTransaction(dependencies),
    readCanonicalDocument: readCanonicalDocument(dependencies),
    queryCanonicalDocumentRevisions: queryCanonicalDocumentRevisions(dependencies),
    leaseCanonicalOutbox: leaseCanonicalOutbox(dependencies),
    queryCanonicalOutbox: queryCanonicalOutbox(dependencies),
    renewCanonicalOutboxLease: renewCanonicalOutboxLease(dependencies),
    acknowledgeCanonicalOutbox: acknowledgeCanonicalOutbox(dependencies),
    releaseCanonicalOutbox: releaseCanonicalOutbox(dependencies),
    replayCanonicalOutbox: replayCanonicalOutbox(dependencies),
  };
}
