import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ProviderFailure } from '../../functions/providers/failure.ts';
import {
  keepQualification,
  PROVIDER_QUALIFICATIONS,
  qualificationsOf,
} from '../../functions/providers/qualifications.ts';
import type { StoredQualification } from '../../functions/providers/rules/qualification.ts';
import type { RunGuardLimits } from '../../functions/providers/rules/run-guard.ts';
import {
  enterRun,
  leaveRun,
  PROVIDER_RUNS,
  type RunGuardParts,
} from '../../functions/providers/run-guard.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import type { TestedStore } from './stores/tested-store.ts';

/** The collections that a database must declare for these tests. */
const providerCollections = [PROVIDER_RUNS, PROVIDER_QUALIFICATIONS];

const NOW = Date.UTC(2026, 0, 2, 12);
const unlimited: RunGuardLimits = { runsPerWindow: null, windowMs: 60_000, concurrentRuns: 100 };

interface Guards {
  readonly ofSpace?: Partial<RunGuardLimits>;
  readonly ofAll?: Partial<RunGuardLimits>;
}

/** An instance of the service, with a clock that a test sets. */
interface Instance extends RunGuardParts {
  now: number;
}

/** Instances of the service, each with its own store over one database, that share one provider. */
function instances(stores: readonly RecordStore[], { ofSpace, ofAll }: Guards): readonly Instance[] {
  const provider = `provider-${randomUUID()}`;
  const timers = {
    after: (_: number, callback: () => void) => {
      setImmediate(callback);
      return () => undefined;
    },
  };
  return stores.map((store) => {
    const instance: Instance = {
      store: () => Promise.resolve(store),
      world: { clock: { now: () => instance.now }, timers },
      now: NOW,
      provider,
      ofSpace: { ...unlimited, ...ofSpace },
      ofAll: ofAll === undefined ? null : { ...unlimited, ...ofAll },
      queueMs: 0,
    };
    return instance;
  });
}

const signal = new AbortController().signal;
const placeOf = (space: string, id: string, holder = 'first') => ({
  space,
  id,
  holder,
  leaseMs: 10_000,
  signal,
});

/** The outcome of a begin: `begun`, or the word of its refusal. */
async function begin(parts: Instance | undefined, space: string, id: string, now = NOW): Promise<string> {
  if (parts === undefined) throw new Error('there is no such instance');
  parts.now = now;
  try {
    await enterRun(parts, placeOf(space, id));
    return 'begun';
  } catch (error) {
    if (error instanceof ProviderFailure) return error.providerStatus;
    throw error;
  }
}

/** The places of runs and the stored qualifications, on any store. Two instances share a database. */
export function describeProviderRuns(tested: TestedStore, { rivals }: { readonly rivals: number }): void {
  describe(`provider runs on ${tested.title}`, () => {
    let stores: readonly RecordStore[] = [];
    beforeAll(async () => {
      const open = await tested.create(providerCollections);
      stores = [await open(), await open()];
    });
    afterAll(async () => {
      for (const store of stores) await store.close();
    });

    test('two instances share the runs of a window, and each space has its own', async () => {
      const [one, two] = instances(stores, { ofSpace: { runsPerWindow: 3 } });
      const outcomes = [];
      for (const [at, each] of [one, two, one, two].entries())
        outcomes.push(await begin(each, 'a', `run-${at}`));
      expect(outcomes).toEqual(['begun', 'begun', 'begun', 'rate_limited']);
      expect(await begin(two, 'b', 'run-9')).toBe('begun');
    });

    test('runs at once are never more than the places', async () => {
      const all = instances(stores, { ofSpace: { concurrentRuns: 2 } });
      const runs = Array.from({ length: rivals }, (_, at) => begin(all[at % all.length], 'a', `run-${at}`));
      const outcomes = await Promise.all(runs);
      expect(outcomes.filter((outcome) => outcome === 'begun')).toHaveLength(2);
    });

    test('a place that one instance frees is free for the other', async () => {
      const [one, two] = instances(stores, { ofSpace: { concurrentRuns: 1 } });
      if (one === undefined || two === undefined) throw new Error('there are two');
      expect(await begin(one, 'a', 'first')).toBe('begun');
      expect(await begin(two, 'a', 'second')).toBe('concurrency_queue_timeout');
      expect(await begin(two, 'a', 'first')).toBe('begun');
      await leaveRun(two, placeOf('a', 'first'));
      expect(await begin(two, 'a', 'second')).toBe('begun');
    });

    test('an instance that has lost its run does not free the place of the instance that resumed it', async () => {
      const bound = { concurrentRuns: 1 };
      const [one, two] = instances(stores, { ofSpace: bound, ofAll: bound });
      if (one === undefined || two === undefined) throw new Error('there are two');
      await enterRun(one, placeOf('a', 'run', 'first'));
      await enterRun(two, placeOf('a', 'run', 'second'));
      await leaveRun(one, placeOf('a', 'run', 'first'));
      for (const space of ['a', 'b'])
        expect(await begin(one, space, 'other')).toBe('concurrency_queue_timeout');
      await leaveRun(two, placeOf('a', 'run', 'second'));
      expect(await begin(one, 'a', 'other')).toBe('begun');
    });

    test('the places of all spaces have a bound, and a run that finds none takes none in its space', async () => {
      const [one, two] = instances(stores, { ofSpace: { concurrentRuns: 1 }, ofAll: { concurrentRuns: 1 } });
      if (one === undefined) throw new Error('there is one');
      expect(await begin(one, 'a', 'first')).toBe('begun');
      expect(await begin(two, 'b', 'second')).toBe('concurrency_queue_timeout');
      await leaveRun(one, placeOf('a', 'first'));
      expect(await begin(two, 'b', 'third')).toBe('begun');
    });

    test('an instance whose clock is far ahead keeps the other out for less than two windows', async () => {
      const [ahead, right] = instances(stores, { ofSpace: { runsPerWindow: 1 } });
      expect(await begin(ahead, 'a', 'first', NOW + 400 * 86_400_000)).toBe('begun');
      expect(await begin(right, 'a', 'second')).toBe('rate_limited');
      expect(await begin(right, 'a', 'second', NOW + 119_000)).toBe('rate_limited');
      expect(await begin(right, 'a', 'second', NOW + 120_000)).toBe('begun');
    });

    test('two instances whose clocks differ start at most the limit of runs together', async () => {
      const [right, ahead] = instances(stores, { ofSpace: { runsPerWindow: 3 } });
      const begun: number[] = [];
      for (let minute = 0; minute < 6; minute += 1)
        for (const seconds of [0, 29, 31, 59])
          for (const each of [right, ahead])
            for (let at = 0; at < 2; at += 1) {
              const now = NOW + minute * 60_000 + seconds * 1_000 + (each === ahead ? 150_000 : 0);
              if ((await begin(each, 'a', randomUUID(), now)) === 'begun')
                begun[minute] = (begun[minute] ?? 0) + 1;
            }
      expect(begun.slice(1)).toEqual([3, 3, 3, 3, 3]);
    });

    test('qualifications are kept for each provider, and an unchanged proof writes nothing', async () => {
      const [one, two] = stores.map((store) => () => Promise.resolve(store));
      if (one === undefined || two === undefined) throw new Error('there are two');
      const [mine, other] = [`provider-${randomUUID()}`, `provider-${randomUUID()}`];
      const made: StoredQualification = {
        capability: 'ai.chat',
        configHash: 'sha256:1',
        status: 'failed',
        at: NOW,
        evidenceRefs: ['input:1'],
      };
      await keepQualification(one, mine, made, 'qualification');
      expect(await qualificationsOf(two, [other, mine])).toEqual([[], [made]]);
      const works = { ...made, status: 'validated', at: NOW + 1 } as const;
      await keepQualification(two, mine, works, 'run');
      await keepQualification(one, mine, { ...works, at: NOW + 2 }, 'run');
      expect(await qualificationsOf(one, [mine])).toEqual([[{ ...works, evidenceRefs: [] }]]);
    });
  });
}
