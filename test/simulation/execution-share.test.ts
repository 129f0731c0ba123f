import { expect, test } from 'vitest';
import { simulateExecution } from './execution.ts';
import { EXECUTION_FLAWS } from './execution-flaws.ts';

/** The share of every change; `execution.long.test.ts` has more seeds and every planted bug. */
const SEEDS = 40;
const SEEDS_TO_FIND_A_BUG = 40;

test(`the execution runtime keeps its promises in ${SEEDS} runs under faults`, async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { violation } = await simulateExecution(seed);
    expect(violation?.message, `seed ${seed}`).toBeUndefined();
  }
});

test.each(['lost-writes', 'any-token', 'event-twice'])('a planted bug is found early: %s', async (flaw) => {
  expect(Object.keys(EXECUTION_FLAWS)).toContain(flaw);
  let found: Error | undefined;
  for (let seed = 1; seed <= SEEDS_TO_FIND_A_BUG && found === undefined; seed++) {
    found = (await simulateExecution(seed, { flaw })).violation;
  }
  expect(found).toBeDefined();
});
