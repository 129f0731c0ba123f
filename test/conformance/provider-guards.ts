import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FailureClass, ProviderFailure } from '../../functions/providers/failure.ts';
import { PROVIDER_GUARDS } from '../../functions/providers/guard-record.ts';
import { type ProviderGuard, providerGuard } from '../../functions/providers/provider-guard.ts';
import { FAILURES_EACH, FAILURES_MAX, REST_MS } from '../../functions/providers/rules/circuit.ts';
import type { GuardLimits } from '../../functions/providers/rules/guard.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import type { TestedStore } from './stores/tested-store.ts';

const NOW = Date.UTC(2026, 0, 2, 12);
const unlimited: GuardLimits = { callsPerMinute: null, tokensPerDayMax: null, spaceSharePercent: 100 };

/** An instance of the service, with a clock that a test sets. */
interface Instance {
  readonly guard: ProviderGuard;
  now: number;
}

/** Instances of the service, each with its own store over one database, that share one provider. */
function instances(stores: readonly RecordStore[], own: Partial<GuardLimits> = {}): readonly Instance[] {
  const provider = `provider-${randomUUID()}`;
  const limits = { ...unlimited, ...own };
  return stores.map((store) => {
    const clock = { now: () => instance.now };
    const guard = providerGuard({ store: () => Promise.resolve(store), clock, provider, limits });
    const instance = { guard, now: NOW };
    return instance;
  });
}

interface Call {
  readonly tokens?: number;
  readonly now?: number;
  readonly space?: string | null;
  readonly failure?: FailureClass;
  /** When the provider answers: at once unless set. */
  readonly answered?: Promise<void>;
}

/** The outcome of a call: `made`, or the word of its refusal. */
async function call(
  instance: Instance | undefined,
  { tokens = 1, now = NOW, space = 'a', failure, answered }: Call = {},
): Promise<string> {
  if (instance === undefined) throw new Error('there is no such instance');
  instance.now = now;
  try {
    return await instance.guard.within({ space, tokens }, async (admit) => {
      await admit();
      await answered;
      if (failure !== undefined) throw new ProviderFailure(failure, 'failed', 'failed');
      return 'made';
    });
  } catch (error) {
    if (error instanceof ProviderFailure) return error.providerStatus;
    throw error;
  }
}

/** How many of these calls at once are made, by instances that share the stores. */
export async function madeAtOnce(stores: readonly RecordStore[], rivals: number): Promise<number> {
  const all = instances(stores, { callsPerMinute: 3 });
  const calls = Array.from({ length: rivals }, (_, at) => call(all[at % all.length]));
  return (await Promise.all(calls)).filter((outcome) => outcome === 'made').length;
}

/** The guard of providers against any store. Two instances share a database. */
export function describeProviderGuards(tested: TestedStore, { rivals }: { readonly rivals: number }): void {
  describe(`provider guards on ${tested.title}`, () => {
    let stores: readonly RecordStore[] = [];
    beforeAll(async () => {
      const open = await tested.create([PROVIDER_GUARDS]);
      stores = [await open(), await open()];
    });
    afterAll(async () => {
      for (const store of stores) await store.close();
    });

    test('two instances share one limit of calls', async () => {
      const [one, two] = instances(stores, { callsPerMinute: 3 });
      const outcomes = [];
      for (const each of [one, two, one, two, one]) outcomes.push(await call(each));
      expect(outcomes).toEqual(['made', 'made', 'made', 'rate_limited', 'rate_limited']);
      expect(await call(two, { now: NOW + 60_000 })).toBe('made');
    });

    test('calls at once are never more than the limit', async () => {
      expect(await madeAtOnce(stores, rivals)).toBe(3);
    });

    test('two instances share one budget of tokens', async () => {
      const [one, two] = instances(stores, { tokensPerDayMax: 10 });
      expect(await call(one, { tokens: 6 })).toBe('made');
      expect(await call(two, { tokens: 6 })).toBe('budget_spent');
      expect(await call(two, { tokens: 4 })).toBe('made');
      expect(await call(two, { tokens: 6, now: NOW + 86_400_000 })).toBe('made');
    });

    test('reported tokens take the place of those that were counted, also of an answer that is refused', async () => {
      const [one, two] = instances(stores, { tokensPerDayMax: 10 });
      if (one === undefined) throw new Error('there is no instance');
      const work = one.guard.within({ space: 'a', tokens: 8 }, async (admit, used) => {
        for (const reported of [2, 1]) {
          await admit(4);
          used(reported);
        }
        throw new ProviderFailure('schema', 'refused', 'refused');
      });
      await expect(work).rejects.toThrow('refused');
      expect(await call(two, { tokens: 8 })).toBe('budget_spent');
      expect(await call(two, { tokens: 7 })).toBe('made');
    });

    test('the failures and the recovery of a provider that one instance sees count for the other', async () => {
      const [one, two] = instances(stores);
      for (let each = 0; each < FAILURES_EACH; each += 1)
        for (const space of ['a', 'b']) expect(await call(one, { failure: 'network', space })).toBe('failed');
      expect(await call(two, { space: 'c' })).toBe('circuit_open');
      const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
      const later = { now: NOW + REST_MS, space: 'c', answered };
      const trials = [call(one, later), call(two, later)];
      expect(await Promise.race(trials)).toBe('circuit_open');
      answer();
      expect((await Promise.all(trials)).toSorted()).toEqual(['circuit_open', 'made']);
      expect([await call(one, later), await call(two, later)]).toEqual(['made', 'made']);
    });

    test.each<FailureClass>(['cancelled', 'timeout'])(
      'another space tries at once where a call that tries ends: %s',
      async (failure) => {
        const [one, two] = instances(stores);
        for (let each = 0; each < FAILURES_EACH; each += 1)
          for (const space of ['a', 'b']) await call(one, { failure: 'network', space });
        const now = NOW + REST_MS;
        expect(await call(one, { now, space: 'c', failure })).toBe('failed');
        const own = failure === 'cancelled' ? 'made' : 'circuit_open';
        expect(await call(two, { now, space: 'c' })).toBe(own);
        expect(await call(two, { now, space: 'd' })).toBe('made');
      },
    );

    test('a trial call that fails by a fault of the service frees the next call to try', async () => {
      const [one, two] = instances(stores);
      for (let each = 0; each < FAILURES_MAX; each += 1) await call(one, { failure: 'network' });
      if (one === undefined) throw new Error('there is no instance');
      one.now = NOW + REST_MS;
      const broken = one.guard.within({ space: 'a', tokens: 1 }, async (admit) => {
        await admit();
        throw new TypeError('a fault');
      });
      await expect(broken).rejects.toThrow('a fault');
      expect(await call(two, { now: NOW + REST_MS })).toBe('made');
    });

    test('failures of one space do not affect another', async () => {
      const [one, two] = instances(stores);
      for (let each = 0; each < FAILURES_MAX; each += 1) await call(one, { failure: 'network' });
      const blip = await call(one, { space: 'b', failure: 'network' });
      expect([blip, await call(two), await call(two, { space: 'b' })]).toEqual([
        'failed',
        'circuit_open',
        'made',
      ]);
    });

    test('one space has its share of the limits, which both instances know', async () => {
      const [one, two] = instances(stores, { callsPerMinute: 4, spaceSharePercent: 50 });
      const outcomes = [];
      for (const each of [one, two, one]) outcomes.push(await call(each));
      for (const each of [one, two, one]) outcomes.push(await call(each, { space: 'b' }));
      expect(outcomes).toEqual(['made', 'made', 'space_rate_limited', 'made', 'made', 'rate_limited']);
    });

    test('an instance whose clock is far ahead keeps the other from its budget for less than two days', async () => {
      const [ahead, right] = instances(stores, { tokensPerDayMax: 10 });
      const far = NOW + 400 * 86_400_000;
      expect(await call(ahead, { tokens: 10, now: far })).toBe('made');
      expect(await call(right)).toBe('budget_spent');
      expect(await call(right, { now: NOW + 129_600_000 })).toBe('made');
    });

    test('two instances whose clocks differ make at most the limit of calls together', async () => {
      const [right, ahead] = instances(stores, { callsPerMinute: 3 });
      const made: number[] = [];
      for (let minute = 0; minute < 6; minute += 1)
        for (const seconds of [0, 29, 31, 59])
          for (const each of [right, ahead])
            for (let calls = 0; calls < 2; calls += 1) {
              const now = NOW + minute * 60_000 + seconds * 1_000 + (each === ahead ? 150_000 : 0);
              if ((await call(each, { now })) === 'made') made[minute] = (made[minute] ?? 0) + 1;
            }
      expect(made.slice(1)).toEqual([3, 3, 3, 3, 3]);
    });

    test('providers do not share limits', async () => {
      const [one] = instances(stores, { callsPerMinute: 1 });
      const [other] = instances(stores, { callsPerMinute: 1 });
      expect([await call(one), await call(other), await call(one)]).toEqual(['made', 'made', 'rate_limited']);
    });
  });
}
