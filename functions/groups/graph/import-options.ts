import { limits } from '../../../contracts/generated/limits.ts';
import type { SvcGraphCollectionImportRequest } from '../../../contracts/generated/models.ts';
import type { ImportOptions } from '../../graph/rules/graph-policy.ts';
import type { EnvelopeRequest } from '../../graph/rules/read-envelope.ts';
import { checkJsonBytes } from '../../kernel/json-bytes.ts';

/** What a request for an import says beside its graph, with the defaults. */
export function importOptions(request: SvcGraphCollectionImportRequest): ImportOptions {
  return {
    createCollectionIfMissing: request.createCollectionIfMissing ?? true,
    replaceExisting: request.replaceExisting ?? false,
    allowNonGraphPolicy: request.allowNonGraphPolicy ?? false,
  };
}

const LISTS = ['nodes', 'edges', 'assertions', 'reviews', 'projections'] as const;

/** The graph, once what its own record holds is no larger than a record. Throws `limit_exceeded` naming the member. */
export function checkedEnvelope(request: SvcGraphCollectionImportRequest): EnvelopeRequest {
  const { envelope } = request;
  checkSize(envelope.scope, 'scope');
  checkSize(envelope.metadata, 'metadata');
  return envelopeIn(request);
}

/**
 * Throws `limit_exceeded` naming an element that no record can hold; an import gives such an element an outcome of its own. One element
 * a step.
 */
export function* checkElements({ envelope }: SvcGraphCollectionImportRequest): Generator<void, void> {
  for (const list of LISTS) {
    for (const [index, element] of (envelope[list] ?? []).entries()) {
      checkSize(element, `${list}/${index}`);
      yield;
    }
  }
}

function checkSize(json: unknown, pointer: string): void {
  checkJsonBytes(json ?? null, limits.recordBytesMax, `/envelope/${pointer}`);
}

/** The graph as its schema has accepted it. */
export function envelopeIn({ envelope }: SvcGraphCollectionImportRequest): EnvelopeRequest {
  return envelope as unknown as EnvelopeRequest;
}
