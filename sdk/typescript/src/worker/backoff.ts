/** How long to pause after so many failures in a row: by chance from nothing up to a bound that doubles, so that workers part. */
export function fullJitter({ failures, baseMs, capMs, random, askedMs = 0 }: Question): number {
  const bound = Math.min(capMs, baseMs * 2 ** Math.min(failures - 1, 30));
  return Math.max(bound * random, Math.min(askedMs, ASKED_MS_MAX));
}

interface Question {
  /** This one included. */
  readonly failures: number;
  readonly baseMs: number;
  readonly capMs: number;
  /** From 0 to 1, drawn anew for each question. */
  readonly random: number;
  /** What `Retry-After` asks for. */
  readonly askedMs?: number | undefined;
}

/** Who asks for a longer pause is asked again all the same. */
const ASKED_MS_MAX = 60_000;
