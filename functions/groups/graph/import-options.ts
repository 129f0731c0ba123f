import { limits } from '../../../contracts/generated/limits.ts';
import type { SvcGraphCollectionImportRequest } from '../../../contracts/generated/models.ts';
import type { ImportOptions } from '../../graph/rules/graph-policy.ts';
import type { EnvelopeRequest } from '../../graph/rules/read-envelope.ts';
import { checkJsonBytes } from '../../kernel/json-bytes.ts';

/** The options of an import, with their defaults. */
export function importOptions(request: SvcGraphCollectionImportRequest): ImportOptions {
  return {
    createCollectionIfMissing: request.createCollectionIfMissing ?? true,
    replaceExisting: request.replaceExisting ?? false,
    allowNonGraphPolicy: request.allowNonGraphPolicy ?? false,
  };
}

const LISTS = ['nodes', 'edges', 'assertions', 'reviews', 'projections'] as const;

/** The graph, if the record of its own members is not too large. Otherwise throws `limit_exceeded` with the member. */
export function checkedEnvelope(request: SvcGraphCollectionImportRequest): EnvelopeRequest {
  const { envelope } = request;
  checkSize(envelope.scope, 'scope');
  checkSize(envelope.metadata, 'metadata');
  return envelopeIn(request);
}

/**
 * Throws `limit_exceeded` for the first element that is too large for a record. An import reports such an element in its results
 * instead. Checks one element in each step.
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

/** The graph of a request that passed its schema. */
export function envelopeIn({ envelope }: SvcGraphCollectionImportRequest): EnvelopeRequest {
  return envelope as unknown as EnvelopeRequest;
}
