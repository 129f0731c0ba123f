import { limits } from '../../../contracts/generated/limits.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { parseUtc } from '../../kernel/timestamp.ts';

/** A request as its schema has accepted it. */
export interface TracesPruneRequest {
  readonly operation?: string | null;
  /** RFC 3339. */
  readonly olderThan?: string | null;
  readonly keepLatest?: number | null;
  readonly limit?: number | null;
  readonly dryRun?: boolean | null;
}

export interface PruneSelection {
  /** `null`: all. */
  readonly operation: string | null;
  /** Milliseconds since 1970; only traces that were made before. */
  readonly olderThan: number | null;
  /** How many of the newest traces of the selection stay. */
  readonly keepLatest: number;
  readonly limit: number;
  readonly dryRun: boolean;
}

/** Throws `validation_failed` naming the member; a request without any condition would remove everything. */
export function readPrune(request: TracesPruneRequest): PruneSelection {
  const { operation = null, olderThan = null, keepLatest = null, limit = null, dryRun = null } = request;
  if (operation === null && olderThan === null && keepLatest === null)
    throw invalidMember('', 'needs `operation`, `olderThan` or `keepLatest`');
  if (keepLatest !== null && (!Number.isInteger(keepLatest) || keepLatest < 0))
    throw invalidMember('/keepLatest', 'must be a whole number of at least 0');
  return {
    operation,
    olderThan: olderThan === null ? null : momentOf(olderThan),
    keepLatest: keepLatest ?? 0,
    limit: readLimit(limit),
    dryRun: dryRun === true,
  };
}

/** The number of traces that a call asks for. Throws `validation_failed`. */
export function readLimit(limit: number | null | undefined): number {
  const given = limit ?? limits.traceListLimitDefault;
  if (!Number.isInteger(given) || given < 1 || given > limits.traceListLimitMax)
    throw invalidMember('/limit', `must be a whole number from 1 to ${limits.traceListLimitMax}`);
  return given;
}

function momentOf(text: string): number {
  const moment = parseUtc(text);
  if (moment === undefined) throw invalidMember('/olderThan', 'must be a time of RFC 3339');
  return moment;
}
