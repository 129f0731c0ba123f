/** The pause after consecutive failures: random, from 0 to a bound that doubles, so that workers do not retry together. */
export function fullJitter({ failures, baseMs, capMs, random, askedMs = 0 }: Question): number {
  const bound = Math.min(capMs, baseMs * 2 ** Math.min(failures - 1, 30));
  return Math.max(bound * random, Math.min(askedMs, ASKED_MS_MAX));
}

interface Question {
  /** Consecutive failures, this one included. */
  readonly failures: number;
  readonly baseMs: number;
  readonly capMs: number;
  /** From 0 to 1, drawn for each pause. */
  readonly random: number;
  /** From `Retry-After`. */
  readonly askedMs?: number | undefined;
}

/** The longest pause that `Retry-After` can cause. */
const ASKED_MS_MAX = 60_000;
