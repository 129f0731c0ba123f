import type { ProblemCode } from '../../../contracts/generated/errors.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { isPassing, ProviderFailure } from '../../providers/failure.ts';

/** Refusals that a retrieval gets again however often it is tried: they are the result of its case. */
const lasting: ReadonlySet<ProblemCode> = new Set([
  'malformed_request',
  'validation_failed',
  'limit_exceeded',
  'query_budget_exceeded',
  'search_budget_exceeded',
  'collection_not_found',
]);

/** Whether the error is the result of a case. What passes by itself would make a report that no second run gives. */
export function isCaseFault(error: unknown): error is ServiceError | ProviderFailure {
  if (error instanceof ServiceError) return lasting.has(error.code);
  return error instanceof ProviderFailure && !isPassing(error) && !error.isOfGuard;
}

/** Refusals of a store, a process or a provider that has too much to do. */
const passing: ReadonlySet<ProblemCode> = new Set([
  'rate_limited',
  'store_contention',
  'unavailable',
  'search_index_building',
]);

/** Whether the same work may be answered a while later, also when a budget of the provider has begun again. */
export function passesBy(error: unknown): boolean {
  if (error instanceof ServiceError) return passing.has(error.code);
  return error instanceof ProviderFailure && (isPassing(error) || error.isOfGuard);
}
