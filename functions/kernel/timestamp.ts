const LAST_MOMENT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** `2026-01-02T03:04:05.678Z`: always UTC and always milliseconds, so that the texts sort as the moments do. */
export function formatUtc(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/**
 * The later of a stored moment and the current one. Clocks are set back, and those of two instances differ, but the moments of a
 * record never go back. Both are texts of `formatUtc`.
 */
export function laterUtc(stored: string | null | undefined, utc: string): string {
  return typeof stored === 'string' && stored > utc ? stored : utc;
}

/** The time between two readings of a clock; at least 0, also after the clock was set back. */
export function elapsedMs(since: number, now: number): number {
  return Math.max(0, now - since);
}

/**
 * The moment of an RFC 3339 text in milliseconds since 1970, or `undefined` where it names none (a leap second, a year
 * that the offset pushes out of 0000–9999). Finer fractions are cut to the millisecond.
 */
export function parseUtc(text: string): number | undefined {
  const milliseconds = Date.parse(text.toUpperCase());
  return Number.isNaN(milliseconds) || milliseconds > LAST_MOMENT || milliseconds < -62_167_219_200_000
    ? undefined
    : milliseconds;
}
