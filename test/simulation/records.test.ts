import { describe, expect, test } from 'vitest';
import { simulateRecords } from './records.ts';
import { RECORDS_FLAWS } from './records-flaws.ts';

/** A bounded share, which fits into the budget of a group. */
const SEEDS = 80;
const SEEDS_WITH_SEARCHES = 40;
const SEEDS_TO_FIND_A_BUG = 200;

test('a seed gives the same run of the records world each time', async () => {
  for (const seed of [4, 5, 6, 7]) {
    const [first, second] = [await simulateRecords(seed), await simulateRecords(seed)];
    expect([second.traceHash, second.steps]).toEqual([first.traceHash, first.steps]);
  }
});

test(`records keep their promises in ${SEEDS} runs, which reach the rare cases`, async () => {
  const reached = new Set<string>();
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const report = await simulateRecords(seed);
    expect(report.violation?.message, `seed ${seed}`).toBeUndefined();
    for (const what of report.reached) reached.add(what);
  }
  const rare = [
    'batch collection_not_found',
    'batch done',
    'deleted collection',
    'given up',
    'import done',
    'killed',
    'precondition_failed',
    'replace done',
    'swept',
    'upserted on a condition',
  ];
  expect([...reached]).toEqual(expect.arrayContaining(rare));
});

test(`searches find exactly the stored matches, in ${SEEDS_WITH_SEARCHES} runs`, async () => {
  const reached = new Set<string>();
  for (let seed = 1; seed <= SEEDS_WITH_SEARCHES; seed += 1) {
    const report = await simulateRecords(seed, { searches: true });
    expect(report.violation?.message, `seed ${seed}`).toBeUndefined();
    for (const what of report.reached) reached.add(what);
  }
  expect([...reached]).toEqual(expect.arrayContaining(['found', 'found nothing', 'replace done', 'swept']));
});

test('an intent that is announced again while a sweep reads the name is kept', async () => {
  // In these runs a collection is replaced between that look and the end of the sweep.
  for (const seed of [615, 1303, 1368, 3702])
    expect((await simulateRecords(seed)).violation?.message, `seed ${seed}`).toBeUndefined();
});

/** The invariants that each bug may break. */
const FOUND_AS: Readonly<Record<string, readonly string[]>> = {
  'torn-writes': ['I1 ', 'I2 ', 'I3 ', 'I4 ', 'answer', 'progress'],
  'lost-writes': ['I1 ', 'I2 ', 'I3 ', 'I4 ', 'answer', 'progress'],
  'unguarded-reads': ['I1 ', 'I2 ', 'I4 ', 'answer'],
  'blind-retry': ['I1 ', 'I4 ', 'answer'],
  'moving-moment': ['answer'],
  'stale-policy': ['answer'],
  'blind-sweep': ['I1 '],
  'forgotten-runs': ['answer'],
  'chunks-forgotten': ['I2 ', 'I4 '],
  'outcomes-forgotten': ['I2 '],
  'intents-forgotten': ['progress'],
  'never-swept': ['progress'],
  'entries-forgotten': ['answer'],
  holes: ['I2 ', 'answer'],
  'lost-flips': ['I1 ', 'answer', 'progress'],
};

describe('a bug planted among records is found', () => {
  test.each(Object.keys(RECORDS_FLAWS))('%s', async (flaw) => {
    for (let seed = 1; seed <= SEEDS_TO_FIND_A_BUG; seed += 1) {
      const { violation } = await simulateRecords(seed, { flaw, searches: flaw === 'entries-forgotten' });
      if (violation === undefined) continue;
      const found = FOUND_AS[flaw]?.some((name) => violation.message.startsWith(name));
      expect(found, violation.message).toBe(true);
      return;
    }
    expect.fail(`${flaw} was not found`);
  });
});
