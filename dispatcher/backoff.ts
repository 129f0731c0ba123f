/** Delays that grow by doubling, drawn anew from all of their range each time, so that those who failed together part. */
export interface Backoff {
  /** The largest delay of the first retry. */
  readonly baseMs: number;
  /** The largest delay of any. */
  readonly capMs: number;
}

/** No delay is shorter, whatever was drawn: a retry at once would meet what it failed on. */
const DELAY_MS_MIN = 50;

/** The delay after the failure of that number, the first being 1, and never shorter than `atLeastMs`. */
export function backoffMs(
  { baseMs, capMs }: Backoff,
  failures: number,
  random: () => number,
  atLeastMs: number | null = null,
): number {
  // 2^30 is past every cap and still a number that a timer takes.
  const ceiling = Math.min(capMs, baseMs * 2 ** Math.min(Math.max(failures - 1, 0), 30));
  return Math.max(Math.round(random() * ceiling), DELAY_MS_MIN, atLeastMs ?? 0);
}
