import type { ProblemCode } from '../../../contracts/generated/errors.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { isPassing, ProviderFailure } from '../../providers/failure.ts';

/** Refusals that every further try of the retrieval gets too: they are the result of its case. */
const lasting: ReadonlySet<ProblemCode> = new Set([
  'malformed_request',
  'validation_failed',
  'limit_exceeded',
  'query_budget_exceeded',
  'search_budget_exceeded',
  'collection_not_found',
]);

/** Whether the error is the result of a case. A transient failure is not: a second run would give another report. */
export function isCaseFault(error: unknown): error is ServiceError | ProviderFailure {
  if (error instanceof ServiceError) return lasting.has(error.code);
  return error instanceof ProviderFailure && !isPassing(error) && !error.isOfGuard;
}

/** Refusals of an overloaded store, process or provider. */
const passing: ReadonlySet<ProblemCode> = new Set([
  'rate_limited',
  'store_contention',
  'unavailable',
  'search_index_building',
]);

/** Whether the same work may succeed later, such as in the next period of the provider's budget. */
export function passesBy(error: unknown): boolean {
  if (error instanceof ServiceError) return passing.has(error.code);
  return error instanceof ProviderFailure && (isPassing(error) || error.isOfGuard);
}
