import { describe, expect, test } from 'vitest';
import { share } from '../support/effort.ts';
import { simulateExecution } from './execution.ts';
import { EXECUTION_FLAWS } from './execution-flaws.ts';
import { EXECUTION_REGRESSION_SEEDS } from './execution-seeds.ts';

/** A bounded share; `node test/simulation/run.ts --world execution --seeds 1..100000` goes on from here. */
const SEEDS = share(150, 500);
const SEEDS_TO_FIND_A_BUG = 100;

/** Rare events without which a run would have tested too little. */
const MUST_BE_REACHED = [
  'event after the end',
  'event from the inbox',
  'failed by expiry',
  'handler_missing',
  'idempotency_conflict',
  'lease expired',
  'lease_not_active',
  'lease_stale',
  'outcome taken',
  'pruned',
  'pruneExecutionRuntimeMaintenance',
  'queue_full',
  'reconcileExecutionRuntimeDispatch',
  'rejected',
  'retry',
  'taken over',
  'timed_out',
  'to be cancelled, cancelled',
  'to be cancelled, timed_out',
  'trace moved',
  'unknown',
  'wait external_event',
  'wait timed_out',
  'wait timer',
];

test('a seed gives the same run each time, and another seed another', async () => {
  const hashes = new Set<string>();
  for (const seed of [1, 2, 3, 4]) {
    const [first, second] = [await simulateExecution(seed), await simulateExecution(seed)];
    expect([second.traceHash, second.steps]).toEqual([first.traceHash, first.steps]);
    hashes.add(first.traceHash);
  }
  expect(hashes.size).toBe(4);
});

describe('the execution runtime under faults', () => {
  test(`keeps its promises in ${SEEDS} runs, which reach the rare cases`, async () => {
    const reached = new Set<string>();
    for (let seed = 1; seed <= SEEDS; seed++) {
      const report = await simulateExecution(seed);
      expect(report.violation?.message, `seed ${seed}`).toBeUndefined();
      for (const what of report.reached.keys()) reached.add(what);
    }
    expect([...reached]).toEqual(expect.arrayContaining(MUST_BE_REACHED));
  });

  test.each(EXECUTION_REGRESSION_SEEDS)('keeps them with seed $seed: $why', async ({ seed }) => {
    expect((await simulateExecution(seed)).violation?.message).toBeUndefined();
  });
});

/** The invariants that each bug may break: a bug that merely crashes the run has not been understood. */
const FOUND_AS: Readonly<Record<string, readonly string[]>> = {
  'unguarded-reads': ['I7 ', 'I8 ', 'I9 ', 'I12 ', 'admission'],
  'torn-writes': ['admission'],
  'double-claim': ['I8 ', 'I9 ', 'I12 '],
  'lost-writes': ['I1 ', 'admission', 'answer'],
  'blind-retry': ['I8 ', 'I9 ', 'I12 ', 'admission', 'answer'],
  'stale-reads': ['answer', 'linearizable'],
  'never-due': ['progress'],
  'empty-lanes': ['progress'],
  'undone-by-word': ['answer'],
  'any-token': ['I7 ', 'answer'],
  'outlived-lease': ['I7 '],
  'taken-too-early': ['I7 '],
  'attempt-uncounted': ['I8 '],
  'expiry-uncounted': ['I7 '],
  'lost-heartbeat': ['I1 '],
  'forgotten-completion': ['I8 ', 'answer'],
  'key-ignored': ['one at a time'],
  'ceiling-ignored': ['admission'],
  'counted-for-ever': ['admission'],
  'forgotten-key': ['admission'],
  'kept-key': ['admission'],
  'left-behind': ['I8 '],
  'raised-from-the-dead': ['I8 '],
  'retry-without-end': ['I8 '],
  'retry-at-once': ['I8 '],
  'lost-result': ['I1 ', 'answer'],
  'deaf-to-cancel': ['I8 '],
  'parked-though-cancelled': ['I8 '],
  'forgotten-due': ['I10 '],
  'forgotten-lane': ['I10 '],
  'event-twice': ['I9 '],
  'forgotten-wait': ['I9 '],
  'event-dropped': ['I9 '],
  'newest-first': ['I9 '],
  'late-event': ['I9 '],
  'ids-of-the-clock': ['I12 '],
};

describe('a planted bug is found', () => {
  test.each(Object.keys(EXECUTION_FLAWS))('%s', async (flaw) => {
    let found: Error | undefined;
    for (let seed = 1; seed <= SEEDS_TO_FIND_A_BUG && found === undefined; seed++) {
      found = (await simulateExecution(seed, { flaw })).violation;
    }
    const understood = FOUND_AS[flaw]?.some((start) => found?.message.startsWith(start));
    expect(understood, found?.message ?? 'not found').toBe(true);
  });
});
