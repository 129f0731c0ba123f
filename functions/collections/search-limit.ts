import { ServiceError } from '../kernel/errors.ts';
import type { PageRequest } from './rules/offset-page.ts';
import type { LexicalQuery } from './search/lexical-query.ts';
import type { Ranking } from './search/pool.ts';

/**
 * Whether the page has no match although an unscored candidate might be one. An empty page has no diagnostics to report that.
 */
export function isUnknown({ query, isLimited, matches }: Ranking, { offset }: PageRequest): boolean {
  return isLimited && matches.length <= offset && matches.length < query.top;
}

/** Firestore bills a count as one read for this many records. */
const COUNTED_RECORDS_PER_READ = 1_000;

/** The reads that a count of `count` records costs. */
export function readsOfCount(count: number): number {
  return Math.max(1, Math.ceil(count / COUNTED_RECORDS_PER_READ));
}

/** Whether the error is that of a used-up read budget. */
export function isBudgetEnd(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === 'search_budget_exceeded';
}

/** The refusal of such a page, with advice for the caller. */
export function pageUnknown({ scanLimit, scanLimitMax }: LexicalQuery): ServiceError {
  const higher =
    scanLimit < scanLimitMax
      ? `Set a higher scanLimit, at most ${scanLimitMax}`
      : 'The deployment scores no more candidates: its setting Records:LexicalCandidatesMax is the limit';
  const detail = `None of the ${scanLimit} scored candidates is on the page, and more candidates may exist. ${higher}. Rarer words, matchMode all, a phrase, partition keys or a filter leave fewer candidates.`;
  return new ServiceError('search_budget_exceeded', detail);
}
