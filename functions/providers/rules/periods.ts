/**
 * Counts of a period, such as a minute or a day, that instances with different clocks share. Pure.
 *
 * The record of the counts keeps the number of the period that each clock has seen last. So a clock that is far ahead keeps no
 * other from its next period, and two clocks that take turns give neither of them a new one.
 */

/** Numbers of periods since 1970, ascending. Clocks that differ by less than a period share a number. */
export type Periods = readonly number[];

/** Clocks that are told apart. */
const CLOCKS_MAX = 4;

export interface Period {
  readonly known: Periods;
  /** The counts begin again. */
  readonly isNew: boolean;
  /** When the counts begin again for this clock, in milliseconds from now. */
  readonly endsAfterMs: number;
}

/** The period of `now`, in milliseconds since 1970. `known` is the same list where nothing changes. */
export function periodOf(known: Periods, now: number, lengthMs: number): Period {
  const own = Math.floor(now / lengthMs);
  const endOf = (period: number) => Math.max(1, (period + 1) * lengthMs - now);
  if (known.includes(own)) return { known, isNew: false, endsAfterMs: endOf(own) };
  // A clock that is a little ahead has begun the next one.
  if (known.includes(own + 1)) return { known, isNew: false, endsAfterMs: endOf(own + 1) };
  const endsAfterMs = endOf(own);
  const before = known.findLastIndex((each) => each < own);
  // All others are ahead: their counts hold until this clock has seen its next period.
  if (before < 0) return { known: [own, ...known].slice(0, CLOCKS_MAX), isNew: false, endsAfterMs };
  return { known: known.with(before, own), isNew: true, endsAfterMs };
}
