import * as fc from 'fast-check';

/**
 * How hard searches try, and with which seeds. The plain and the rest lane draw from seeds that stand in the files, so each run
 * tries the same cases. The nightly lane shifts every seed by `TEST_SEED`, which `npm run test:nightly` draws and prints.
 */
export const isNightly = process.env['TEST_NIGHTLY'] === 'true';
/** Added to every seed: 0 in the plain and the rest lane. The same number repeats the cases of a nightly run. */
export const seedShift = Number(process.env['TEST_SEED'] ?? '0');

/** Stands beside the message of a failed search: with it the lane draws the same cases again. */
export const repeatLine = `repeat with ${isNightly ? 'TEST_NIGHTLY=true ' : ''}TEST_SEED=${seedShift}`;

/** How many times as much a nightly run tries, where a search does not say its own number. */
const NIGHTLY_FACTOR = 5;
const factor = isNightly ? NIGHTLY_FACTOR : 1;

/** How long one test of a search may take, in milliseconds. */
export const patienceMs = 600_000 * factor;

/** How many to try: the share that runs with every change, or the full number of a nightly run. */
export function share(everyChange: number, nightly: number): number {
  return isNightly ? nightly : everyChange;
}

/** `count` cases with every change, `NIGHTLY_FACTOR` times as many in a nightly run. */
export function cases(count: number): number {
  return count * factor;
}

/** The step through `count` things in a row with which about `wanted` are tried with every change. */
export function stride(count: number, wanted: number): number {
  return Math.max(1, Math.floor(count / cases(wanted)));
}

/** A seed that a name always gives (FNV-1a), so that one search's cases do not change when another one is added. */
export function seedOf(name: string): number {
  let seed = 0x811c9dc5;
  for (const byte of Buffer.from(name)) seed = Math.imul(seed ^ byte, 0x01000193);
  return (seed + seedShift) | 0;
}

/** Tries `check` on `count` drawn values. A failure is shrunk, and its message names the seed that repeats it. */
export async function forAll<T>(
  name: string,
  count: number,
  values: fc.Arbitrary<T>,
  check: (value: T) => Promise<void>,
): Promise<void> {
  await fc.assert(fc.asyncProperty(values, check), { seed: seedOf(name), numRuns: cases(count) });
}
