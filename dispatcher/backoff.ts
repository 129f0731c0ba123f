/**
 * Exponential delays with full jitter: each delay is drawn from the whole range, so that calls that failed together
 * do not retry together.
 */
export interface Backoff {
  /** The upper bound of the first delay. */
  readonly baseMs: number;
  /** The upper bound of every delay. */
  readonly capMs: number;
}

/** The smallest delay: an immediate retry would meet the same failure. */
const DELAY_MS_MIN = 50;

/** The delay after failure number `failures`, counted from 1; never shorter than `atLeastMs`. */
export function backoffMs(
  { baseMs, capMs }: Backoff,
  failures: number,
  random: () => number,
  atLeastMs: number | null = null,
): number {
  // 2^30 exceeds every cap and still fits a timer.
  const ceiling = Math.min(capMs, baseMs * 2 ** Math.min(Math.max(failures - 1, 0), 30));
  return Math.max(Math.round(random() * ceiling), DELAY_MS_MIN, atLeastMs ?? 0);
}
