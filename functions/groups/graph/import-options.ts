import type { SvcGraphCollectionImportRequest } from '../../../contracts/generated/models.ts';
import type { ImportOptions } from '../../graph/rules/graph-policy.ts';
import type { EnvelopeRequest } from '../../graph/rules/read-envelope.ts';

/** What a request for an import says beside its graph, with the defaults. */
export function importOptions(request: SvcGraphCollectionImportRequest): ImportOptions {
  return {
    createCollectionIfMissing: request.createCollectionIfMissing ?? true,
    replaceExisting: request.replaceExisting ?? false,
    allowNonGraphPolicy: request.allowNonGraphPolicy ?? false,
  };
}

/** The graph as its schema has accepted it. */
export function envelopeIn({ envelope }: SvcGraphCollectionImportRequest): EnvelopeRequest {
  return envelope as unknown as EnvelopeRequest;
}
