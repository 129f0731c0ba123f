import { describe, expect, test } from 'vitest';
import { patienceMs, share } from '../support/effort.ts';
import { ALL_FLAWS, simulate } from './canonical.ts';
import { COPY_FLAWS } from './copy-flaws.ts';
import { AFTERMATHS, type Aftermath, crashAt, PROTOCOLS, type Protocol } from './enumerate.ts';
import { REGRESSION_SEEDS } from './seeds.ts';

/**
 * A bounded share; `node test/simulation/run.ts --seeds 1..100000` goes on from here. Of the planted bugs the rarest is found by
 * seed 104.
 */
const SEEDS = share(110, 3_000);
const SEEDS_TO_FIND_A_BUG = 500;
/** The rival's courses at each crash. They bring 18 of the planted bugs to light, each by seed 1; of other seeds it takes three. */
const RIVAL_SEEDS = share(4, 100);
/** More awaits than any operation of the enumeration has. */
const AWAITS_MAX = 40;

/** Rare events without which a run would have tested too little. */
const MUST_BE_REACHED = [
  'fence_conflict',
  'fence_not_owned',
  'idempotency_conflict',
  'outbox_event_exists',
  'precondition_failed',
  'document_missing',
  'lease_stale',
  'lease_not_active',
  'lease taken over',
  'parked by expiry',
  'releaseCanonicalOutbox dead',
  'replayCanonicalOutbox open',
  'outbox_event_not_dead_lettered',
  'failed',
  'unknown',
  'exported',
  'exported while others wrote',
  'exported twice',
  'restored',
  'a freed key committed anew',
  'lease_stale after a restore',
  'content_hash_mismatch',
  'tenant_mismatch',
];

describe('the simulator', () => {
  test('gives the same run for the same seed, and another for another', async () => {
    const hashes = new Set<string>();
    for (const seed of [1, 2, 3, 4, 5]) {
      const copying = seed > 2;
      const [first, second] = [await simulate(seed, { copying }), await simulate(seed, { copying })];
      expect([second.traceHash, second.steps]).toEqual([first.traceHash, first.steps]);
      hashes.add(first.traceHash);
    }
    expect(hashes.size).toBe(5);
  });
});

describe('the canonical store under faults', () => {
  test(`keeps its promises in ${SEEDS} runs, which reach the rare cases`, {
    timeout: patienceMs,
  }, async () => {
    const reached = new Set<string>();
    for (let seed = 1; seed <= SEEDS; seed++) {
      const report = await simulate(seed);
      expect(report.violation?.message, `seed ${seed}`).toBeUndefined();
      for (const what of report.reached.keys()) reached.add(what);
    }
    expect([...reached]).toEqual(expect.arrayContaining(MUST_BE_REACHED));
  });

  test.each(REGRESSION_SEEDS)('keeps them with seed $seed: $why', async ({ seed }) => {
    expect((await simulate(seed)).violation?.message).toBeUndefined();
  });
});

describe('a crash at every await', () => {
  for (const protocol of PROTOCOLS) {
    test.each(AFTERMATHS)(`of ${protocol}, then %s`, async (aftermath) => {
      // Alone, an operation has one course; beside a rival it has many.
      const seeds = aftermath === 'rival' ? RIVAL_SEEDS : 1;
      let points = 0;
      for (let seed = 1; seed <= seeds; seed++)
        points = Math.max(points, await crashEverywhere(protocol, aftermath, seed));
      // Arrival, then a read and a write, each before and after.
      expect(points).toBeGreaterThanOrEqual(5);
    });
  }
});

/** The number of awaits at which the operation was made to crash: all that it has. */
async function crashEverywhere(protocol: Protocol, aftermath: Aftermath, seed: number): Promise<number> {
  for (let point = 1; point < AWAITS_MAX; point++) {
    const { crashed, violation } = await crashAt(protocol, point, aftermath, { seed });
    expect(violation?.message, `crash point ${point}, seed ${seed}`).toBeUndefined();
    if (!crashed) return point - 1;
  }
  throw new Error(`${protocol} has more awaits than ${AWAITS_MAX}`);
}

/** The invariant that each bug must break: a bug that merely crashes the run has not been understood. */
const FOUND_AS: Readonly<Record<string, string | readonly string[]>> = {
  'unguarded-reads': 'I2 ',
  'torn-writes': 'I2 ',
  'trusted-absence': 'I2 ',
  'forgotten-receipt': 'I2 ',
  'lost-revision': 'I4 ',
  'lost-writes': ['I6 ', 'answer: acknowledge'],
  'lease-over-lease': 'I6 ',
  'ceiling-ignored': 'I6 ',
  'forgotten-due': 'I6 ',
  'fence-taken-over': 'I5 ',
  'mixed-tenants': 'I11 ',
  'lost-index': 'I13 ',
  'stale-reads': 'linearizable',
  'double-claim': 'I7 ',
  'reused-tokens': 'I7 ',
  'ack-any-token': ['I6 ', 'answer: acknowledge'],
  'blind-retry': 'I3 ',
  'expiry-inclusive': 'I6 ',
  'torn-export': 'I14 ',
  'stale-export': 'I14 ',
  'forgotten-tombstones': 'I4 ',
  'merged-restore': 'I15 ',
  'kept-receipts': 'I15 ',
  'kept-leases': 'I15 ',
  'uncounted-deliveries': 'I15 ',
  'never-due-again': 'I15 ',
  'flip-before-verify': 'I15 ',
  'emptied-first': 'I15 ',
  'seen-while-loading': 'I15 ',
  'lost-restore': 'I15 ',
  'restored-elsewhere': 'I11 ',
};

/** The first seed of the search for a rare bug. */
const FIRST_SEED: Readonly<Record<string, number>> = { 'expiry-inclusive': 104 };

describe('a planted bug is found', () => {
  test.each(Object.keys(ALL_FLAWS))('%s', async (flaw) => {
    let found: Error | undefined;
    const first = FIRST_SEED[flaw] ?? 1;
    for (let seed = first; seed < first + SEEDS_TO_FIND_A_BUG && found === undefined; seed++) {
      found = (await simulate(seed, { flaw, copying: Object.hasOwn(COPY_FLAWS, flaw) })).violation;
    }
    const understood = [FOUND_AS[flaw] ?? []].flat().some((start) => found?.message.startsWith(start));
    expect(understood, found?.message).toBe(true);
  });
});
