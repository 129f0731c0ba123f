import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ProviderFailure } from '../../functions/providers/failure.ts';
import { enterCall, type GuardParts, leaveCall } from '../../functions/providers/provider-guard.ts';
import { FAILURES_MAX, type GuardLimits, REST_MS } from '../../functions/providers/rules/guard.ts';
import type { RecordStore } from '../../functions/store/port.ts';

const NOW = Date.UTC(2026, 0, 2, 12);
const unlimited: GuardLimits = { callsPerMinute: null, tokensPerDayMax: null };

/** Instances of the service, each with its own store over one database, that know one provider. */
function instances(stores: readonly RecordStore[], own: Partial<GuardLimits> = {}): readonly GuardParts[] {
  const provider = `provider-${randomUUID()}`;
  const limits = { ...unlimited, ...own };
  return stores.map((store) => ({ store: () => Promise.resolve(store), provider, limits }));
}

/** What became of a call: `made`, or the word of its refusal. */
async function call(parts: GuardParts | undefined, { tokens = 1, now = NOW } = {}): Promise<string> {
  if (parts === undefined) throw new Error('there is no such instance');
  try {
    await enterCall(parts, tokens, now);
    return 'made';
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

export interface GuardsConformance {
  /** How many calls a race has. */
  readonly rivals: number;
  readonly skip?: string;
}

/** The guard of providers against any store. `open` is called once for each instance, over one database. */
export function describeProviderGuards(
  name: string,
  open: () => Promise<RecordStore>,
  { rivals, skip }: GuardsConformance,
): void {
  describe.skipIf(skip !== undefined)(`provider guards on ${name}${skip ?? ''}`, () => {
    let stores: readonly RecordStore[] = [];
    beforeAll(async () => {
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

    test('what one instance sees of a failing provider holds for the other, and so does its return', async () => {
      const [one, two] = instances(stores);
      if (one === undefined || two === undefined) throw new Error('there are two');
      for (let each = 0; each < FAILURES_MAX; each += 1) await leaveCall(one, 'network', NOW);
      expect(await call(two)).toBe('circuit_open');
      const later = { now: NOW + REST_MS };
      const trials = await Promise.all([call(one, later), call(two, later)]);
      expect(trials.toSorted()).toEqual(['circuit_open', 'made']);
      await leaveCall(two, null, later.now);
      expect(await call(one, later)).toBe('made');
    });

    test('providers do not share limits', async () => {
      const [one] = instances(stores, { callsPerMinute: 1 });
      const [other] = instances(stores, { callsPerMinute: 1 });
      expect([await call(one), await call(other), await call(one)]).toEqual(['made', 'made', 'rate_limited']);
    });
  });
}
