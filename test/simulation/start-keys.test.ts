import { describe, expect, test } from 'vitest';
import { share } from '../support/effort.ts';
import { simulateStartKeys } from './execution-start-keys.ts';
import { START_KEY_FLAWS } from './execution-start-keys-flaws.ts';

/** A bounded share; `node test/simulation/run.ts --world start-keys --seeds 1..100000` goes on from here. */
const SEEDS = share(15, 2_000);
const SEEDS_TO_FIND_A_BUG = 60;
const PATIENCE_MS = share(600_000, 1_800_000);

/** Rare events without which a run would have tested too little. */
const MUST_BE_REACHED = [
  'cancelled',
  'has a place',
  'lease expired',
  'pruned',
  'replaced',
  'retry',
  'succeeded',
  'waits for its key',
];

test('a seed gives the same run of this world each time', async () => {
  for (const seed of [1, 2]) {
    const [first, second] = [await simulateStartKeys(seed), await simulateStartKeys(seed)];
    expect([second.traceHash, second.steps]).toEqual([first.traceHash, first.steps]);
  }
});

test(
  `the keys of starts hold in ${SEEDS} runs with kills, prunes and replaced payloads`,
  async () => {
    const reached = new Set<string>();
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const report = await simulateStartKeys(seed);
      expect(report.violation?.message, `seed ${seed}`).toBeUndefined();
      for (const name of report.reached.keys()) reached.add(name);
    }
    expect([...reached]).toEqual(expect.arrayContaining(MUST_BE_REACHED));
  },
  PATIENCE_MS,
);

/** The invariant that each bug breaks. */
const FOUND_AS: Readonly<Record<string, RegExp>> = {
  'a-place-too-many': /^one at a time/,
  'place-kept-for-ever': /^progress/,
  'place-free-under-lease': /^one at a time/,
  'offer-lost-in-a-crash': /^progress/,
  'payload-kept': /^(I1 acknowledged|I8 run)/,
};

describe('a planted bug around the keys of starts is found', () => {
  test('each has an entry', () => {
    expect(Object.keys(FOUND_AS).sort()).toEqual(Object.keys(START_KEY_FLAWS).sort());
  });

  test.each(Object.keys(START_KEY_FLAWS))(
    '%s',
    async (flaw) => {
      let found: Error | undefined;
      for (let seed = 1; seed <= SEEDS_TO_FIND_A_BUG && found === undefined; seed += 1)
        found = (await simulateStartKeys(seed, { flaw })).violation;
      expect(found?.message).toMatch(FOUND_AS[flaw] ?? /^$/);
    },
    PATIENCE_MS,
  );
});
