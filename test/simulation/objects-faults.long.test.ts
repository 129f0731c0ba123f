import { describe, expect, test } from 'vitest';
import { type Fault, OBJECT_SCRIPTS, type ObjectsFlaw, runObjects, Violation } from './objects-faults.ts';
import { OBJECT_FLAWS } from './objects-flaws.ts';

const CASES_MIN = 1_000;

/** Every script without a fault, then with each fault at each of its steps. */
async function* cases(flaw: ObjectsFlaw | null): AsyncGenerator<void, void, undefined> {
  for (const script of OBJECT_SCRIPTS) {
    const steps = await runObjects(script, null, flaw);
    yield;
    for (let step = 0; step < steps; step += 1) {
      for (const kind of ['killed', 'unavailable'] as const) {
        const fault: Fault = { step, kind };
        await runObjects(script, fault, flaw).catch((error: unknown) => {
          throw new Violation(`${kind} at step ${step} of script ${OBJECT_SCRIPTS.indexOf(script)}`, {
            cause: error,
          });
        });
        yield;
      }
    }
  }
}

/** Runs every case, and says how many there were. */
async function tried(flaw: Parameters<typeof cases>[0]): Promise<number> {
  let count = 0;
  for await (const _ of cases(flaw)) count += 1;
  return count;
}

test('objects lose no acknowledged write and leave no leftovers, whichever single call fails', async () => {
  expect(await tried(null)).toBeGreaterThanOrEqual(CASES_MIN);
});

describe('the model finds the planted bug:', () => {
  test.each(Object.entries(OBJECT_FLAWS))(
    '%s',
    async (_, flaw) => {
      await expect(tried(flaw), flaw.about).rejects.toBeInstanceOf(Violation);
    },
    300_000,
  );
});
