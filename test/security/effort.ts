import * as fc from 'fast-check';

/** How hard the generated attacks try: 1 on every push, more in a nightly run. */
const factor = Number(process.env['SVC_SECURITY_FACTOR'] ?? '1');
/** Another seed explores other cases; unset, every run sees the same ones. */
const shift = Number(process.env['SVC_SECURITY_SEED'] ?? '0');

/** How long one test may take, in milliseconds. */
export const patienceMs = 180_000 * Math.max(1, factor);

/** `count` cases at the factor of this run. */
export function cases(count: number): number {
  return Math.max(1, Math.round(count * factor));
}

/** A seed that a name always gives (FNV-1a), so that one attack's cases do not change when another one is added. */
export function seedOf(name: string): number {
  let seed = 0x811c9dc5;
  for (const byte of Buffer.from(name)) seed = Math.imul(seed ^ byte, 0x01000193);
  return (seed + shift) | 0;
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
