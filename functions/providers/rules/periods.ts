/**
 * Counts of a period, such as a minute or a day, that instances with different clocks share. Pure.
 *
 * All clocks share one count. The clock that began the count begins the next one with its own next period. Another
 * clock must see the same count for one whole period of its own before it may begin the next one. So over several
 * periods the counts restart no more often than time passes, and they restart as long as any clock runs. A caller does
 * not name its clock: the rule knows a clock by its last period, so a new clock, or one that calls more rarely than its
 * distance to another, may begin one count more.
 */

export interface SeenClock {
  /** The number of its period since 1970 when it was last seen. */
  readonly at: number;
  /** The period in which the clock may restart the counts; `null`: it has not seen the present counts. */
  readonly next: number | null;
}

/** By their periods, ascending. Clocks that differ by less than a period are one. */
export type Periods = readonly SeenClock[];

/**
 * The most clocks that the rule distinguishes.
 * @testonly
 */
export const CLOCKS_MAX = 8;

export interface Period {
  readonly known: Periods;
  /** Whether the counts restart. */
  readonly isNew: boolean;
  /**
   * The longest time until the counts restart for this clock, in milliseconds. Another clock may restart them sooner.
   */
  readonly endsAfterMs: number;
}

/** The period of `now`, in milliseconds since 1970. `known` is the same list where nothing changes. */
export function periodOf(known: Periods, now: number, lengthMs: number): Period {
  const own = Math.floor(now / lengthMs);
  const endsAfter = (next: number) => Math.max(1, next * lengthMs - now);
  if (known.length === 0) return { known: [begun(own)], isNew: false, endsAfterMs: endsAfter(own + 1) };
  const index = indexOf(known, own);
  const clock = known[index];
  if (clock === undefined) {
    // All known clocks are ahead of this one: their counts stay valid until this clock has seen them for a whole period.
    const [, ...rest] = known;
    const others = known.length < CLOCKS_MAX ? known : rest;
    return { known: [joined(own), ...others], isNew: false, endsAfterMs: endsAfter(own + 2) };
  }
  const at = Math.max(clock.at, own);
  if (clock.next === null)
    return { known: known.with(index, joined(at)), isNew: false, endsAfterMs: endsAfter(at + 2) };
  if (own >= clock.next) {
    const others = known.map((each): SeenClock => ({ ...each, next: null }));
    return { known: others.with(index, begun(own)), isNew: true, endsAfterMs: endsAfter(own + 1) };
  }
  const seen = at === clock.at ? known : known.with(index, { ...clock, at });
  return { known: seen, isNew: false, endsAfterMs: endsAfter(clock.next) };
}

/**
 * The clock with the same number, or one that is a little ahead and in its next period; otherwise the nearest one
 * before.
 */
function indexOf(known: Periods, own: number): number {
  for (const at of [own, own + 1]) {
    const index = known.findIndex((each) => each.at === at);
    if (index >= 0) return index;
  }
  return known.findLastIndex((each) => each.at < own);
}

function begun(own: number): SeenClock {
  return { at: own, next: own + 1 };
}

function joined(own: number): SeenClock {
  return { at: own, next: own + 2 };
}
