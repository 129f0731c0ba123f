import { describe, expect, test } from 'vitest';
import table from '../../retry-table.json' with { type: 'json' };
import { APIConnectionError, APITimeoutError, SvcClient, UnavailableError } from '../src/index.ts';
import { budgetedRetry, type Failure, type RetryQuestion, TOKENS_MAX } from '../src/retry.ts';
import { settleAttempt } from '../src/retry-budget.ts';
import { machine } from '../src/world.ts';
import { type Answer, hangUp, json, problem, Stage, thrown } from './stage.ts';

const { sequences, failures: kinds, defaults, ...limits } = table.budget;

type Step = Partial<typeof defaults> & {
  readonly failure: keyof typeof kinds | null;
  readonly retried: boolean;
  readonly tokens: number;
};

/** The question of a step; `null` after a success. */
function questionOf({ failure, ...step }: Step): RetryQuestion | null {
  if (failure === null) return null;
  const { remainingSeconds, retry, ...its } = { ...defaults, ...step };
  const { retryAfterSeconds = null, ...kind } = kinds[failure] as {
    readonly retryAfterSeconds?: number | null;
  };
  const asked = { ...kind, retryAfterMs: retryAfterSeconds === null ? null : retryAfterSeconds * 1000 };
  return {
    ...its,
    retry: retry as RetryQuestion['retry'],
    failure: asked as unknown as Failure,
    remainingMs: remainingSeconds * 1000,
  };
}

describe('the budget that all SDKs share', () => {
  test.each(sequences)('$name', ({ steps }) => {
    const world = { ...machine, retryTokens: new Map<string, number>() };
    const left = (server: string) => world.retryTokens.get(server) ?? limits.tokensMax;
    let others = 0;
    for (const step of steps as Step[]) {
      const { server, times } = { ...defaults, ...step };
      const question = questionOf(step);
      for (let n = 1; n <= times; n += 1) {
        const name = server === 'others' ? `other ${(others += 1)}` : server;
        const decided = budgetedRetry(question, left(name));
        const delay = settleAttempt(world, name, question);
        expect([delay, left(name)]).toEqual([...decided]);
        expect(delay !== null).toBe(step.retried);
        if (n === times) expect(left(name)).toBe(step.tokens);
        expect(world.retryTokens.size).toBeLessThanOrEqual(limits.serversMax);
      }
    }
  });

  test('has the size of the table, and names every sequence once', () => {
    expect(TOKENS_MAX).toBe(limits.tokensMax);
    expect(new Set(sequences.map(({ name }) => name)).size).toBe(sequences.length);
  });
});

const overloaded = problem(
  503,
  'overloaded',
  { retryable: true, retryAfterSeconds: 1 },
  { 'retry-after': '1' },
);
const ok = json({ status: 'ok' });

/** A world whose pauses are over at once, and in which the server has this many tokens. */
function hasty(stage: Stage, tokens: number) {
  const pauses: number[] = [];
  const after = (delayMs: number, callback: () => void) => {
    // No call of these tests runs out of its minute.
    if (delayMs < 60_000) {
      pauses.push(delayMs);
      queueMicrotask(callback);
    }
    return () => undefined;
  };
  const retryTokens = new Map([[stage.address, tokens]]);
  return { ...machine, random: () => 0, after, retryTokens, pauses };
}

describe('over a socket', () => {
  test('a spent budget allows no retry and no pause, for each client of the server', async () => {
    await using stage = await Stage.open(overloaded);
    const world = hasty(stage, 5);
    const base = stage.client({ world });
    await thrown(base.health({ maxRetries: 1 }), UnavailableError);
    expect([stage.seen.length, world.retryTokens.get(stage.address), world.pauses]).toEqual([2, 0, [1000]]);
    const clients = [
      base,
      base.withOptions({ maxRetries: 9 }),
      stage.client({ world, apiKey: 'another' }),
      stage.client({ world, baseUrl: `${stage.address}/behind/a/path` }),
      stage.client({ world, baseUrl: stage.address.replace('http', 'HTTP') }),
    ];
    for (const client of clients) {
      const error = await thrown(client.health(), UnavailableError);
      expect(error).toMatchObject({ code: 'overloaded', retryable: true, retryAfter: 1 });
    }
    expect(stage.seen).toHaveLength(2 + clients.length);
    expect(world.pauses).toEqual([1000]);
  });

  test('an overloaded server gets a hundred retries in all, not two for each call', async () => {
    await using stage = await Stage.open(overloaded);
    const world = hasty(stage, limits.tokensMax);
    const calls = 200;
    for (let n = 0; n < calls; n += 1) await thrown(stage.client({ world }).health(), UnavailableError);
    expect(stage.seen).toHaveLength(calls + limits.tokensMax / limits.retryTokens);
  });

  test.each<[string, Answer]>([
    ['a success', ok],
    ['a refusal', problem(404, 'not_found')],
    ['a refusal for good', problem(409, 'quota_exceeded')],
  ])('%s gives back', async (_, answer) => {
    await using stage = await Stage.open(answer);
    const world = hasty(stage, 7);
    await stage
      .client({ world, maxRetries: 0 })
      .health()
      .then(undefined, () => undefined);
    expect(world.retryTokens.get(stage.address)).toBe(8);
  });

  test('an absence, an answer with an unread body, and a write that is never retried give back too', async () => {
    await using stage = await Stage.open(problem(404, 'not_found'), ok, json([]));
    const world = hasty(stage, 7);
    const client = stage.client({ world });
    await client.getRecordImportJob('j');
    await (await client.health().asResponse()).text();
    await client.leaseCanonicalOutbox('t', { consumerId: 'c' });
    expect(world.retryTokens.get(stage.address)).toBe(10);
  });

  test('a call that no server answered gives nothing back', async () => {
    await using stage = await Stage.open(hangUp);
    const world = hasty(stage, 4);
    const token = () => Promise.reject(new Error('no token'));
    await thrown(stage.client({ world, token }).health(), Error);
    await thrown(stage.client({ world }).health({ signal: AbortSignal.abort() }), Error);
    expect(stage.seen).toEqual([]);
    await thrown(stage.client({ world, maxRetries: 0 }).health(), APIConnectionError);
    await thrown(stage.client({ world, timeout: 50 }).health(), APITimeoutError);
    expect(world.retryTokens.get(stage.address)).toBe(4);
  });

  test('a client without a world of its own spends the budget of the process', async () => {
    await using stage = await Stage.open(overloaded);
    const client = new SvcClient({ baseUrl: stage.address, apiKey: null, token: null });
    machine.retryTokens.set(stage.address, 4);
    await thrown(client.health(), UnavailableError);
    expect([stage.seen.length, machine.retryTokens.get(stage.address)]).toEqual([1, 4]);
    machine.retryTokens.delete(stage.address);
  });
});
