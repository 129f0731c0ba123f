import { describe, expect, test } from 'vitest';
import { simulateJobs } from './jobs.ts';
import { JOBS_FLAWS } from './jobs-flaws.ts';

/** A bounded share, which fits into the budget of a group. */
const SEEDS = 40;
const SEEDS_TO_FIND_A_BUG = 60;

test('a seed gives the same run of the jobs world each time', async () => {
  for (const seed of [4, 5, 6, 7]) {
    const [first, second] = [await simulateJobs(seed), await simulateJobs(seed)];
    expect([second.traceHash, second.steps]).toEqual([first.traceHash, first.steps]);
  }
});

test(`jobs keep their promises in ${SEEDS} runs, which reach the rare cases`, async () => {
  const reached = new Set<string>();
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const report = await simulateJobs(seed);
    expect(report.violation?.message, `seed ${seed}`).toBeUndefined();
    for (const what of report.reached) reached.add(what);
  }
  const rare = [
    'batch',
    'cancelled',
    'intruder rejected',
    'queue_full',
    'replayed',
    'succeeded',
    'taken over',
  ];
  expect([...reached]).toEqual(expect.arrayContaining(rare));
});

/** The invariants that each bug may break. */
const FOUND_AS: Readonly<Record<string, readonly string[]>> = {
  'torn-writes': ['I1 ', 'I2 ', 'I3 ', 'I4 ', 'admission'],
  'lost-writes': ['I1 ', 'I2 ', 'I3 ', 'I4 ', 'admission'],
  'never-due': ['progress'],
  'caller-starts': ['I8 '],
  'ledger-forgotten': ['I4 '],
  'key-forgotten': ['I3 '],
  'ceiling-ignored': ['admission'],
  'counted-for-ever': ['admission'],
  'one-space': ['I1 ', 'I11 ', 'admission'],
  'job-forgotten': ['I8 '],
};

describe('a bug planted among jobs is found', () => {
  test.each(Object.keys(JOBS_FLAWS))('%s', async (flaw) => {
    for (let seed = 1; seed <= SEEDS_TO_FIND_A_BUG; seed += 1) {
      const { violation } = await simulateJobs(seed, { flaw });
      if (violation === undefined) continue;
      const found = FOUND_AS[flaw]?.some((name) => violation.message.startsWith(name));
      expect(found, violation.message).toBe(true);
      return;
    }
    expect.fail(`${flaw} was not found`);
  });
});
