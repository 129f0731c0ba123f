import { describe, expect, test } from 'vitest';
import { CallError, type ClientMachine, TenantClient, waitMs } from './client.ts';
import { collect } from './collect.fixture.ts';

/** A machine that returns these answers, one per call, and never waits. */
class Answers implements ClientMachine {
  readonly sent: { url: string; init: RequestInit }[] = [];
  readonly pauses: number[] = [];
  readonly #answers: (Response | Error)[];

  constructor(...answers: (Response | Error)[]) {
    this.#answers = answers;
  }

  async fetch(url: string, init: RequestInit): Promise<Response> {
    this.sent.push({ url, init });
    const answer = this.#answers.shift();
    if (answer === undefined) throw new Error('no more calls were expected');
    if (answer instanceof Error) throw answer;
    return answer;
  }

  async pause(delayMs: number): Promise<void> {
    this.pauses.push(delayMs);
  }

  random(): number {
    return 0;
  }
}

const clientOf = (machine: ClientMachine, attemptsMax = 10) =>
  new TenantClient({ address: 'https://svc.example.com/', tenantId: 'acme', attemptsMax, machine });
const problem = (status: number, code: string, retryable: boolean, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify({ code, retryable, detail: 'why' }), { status, headers });
const done = () => new Response(JSON.stringify({ replayed: true }));
const commit = { idempotencyKey: 'k', mutations: [] };

test('a commit is one POST to the tenant, with fresh headers each time', async () => {
  const machine = new Answers(new Response('', { status: 503 }), done());
  let token = 0;
  const headers = async () => ({ authorization: `Bearer ${(token += 1)}` });
  const client = new TenantClient({
    address: 'https://svc.example.com/',
    tenantId: 'acme',
    headers,
    machine,
  });
  expect(await client.commit(commit)).toEqual({ replayed: true });
  expect(machine.sent.map(({ url }) => url)).toEqual(
    Array.from({ length: 2 }, () => 'https://svc.example.com/canonical/tenants/acme/transactions'),
  );
  expect(machine.sent.map(({ init }) => init)).toMatchObject([
    { method: 'POST', redirect: 'manual', headers: { authorization: 'Bearer 1' } },
    { body: JSON.stringify(commit), headers: { authorization: 'Bearer 2' } },
  ]);
});

describe('the client repeats a call', () => {
  test.each<[string, () => Response | Error]>([
    ['429', () => problem(429, 'rate_limited', true)],
    ['503 of the service', () => problem(503, 'unavailable', true)],
    ['503 of something before it', () => new Response('<html>', { status: 503 })],
    ['502 with a JSON text', () => new Response('"bad gateway"', { status: 502 })],
    ['no answer', () => new TypeError('fetch failed')],
  ])('after %s', async (_, answer) => {
    const machine = new Answers(answer(), answer(), done());
    await clientOf(machine).commit(commit);
    expect(new Set(machine.sent.map(({ init }) => init.body))).toEqual(new Set([JSON.stringify(commit)]));
    expect(machine.pauses).toEqual([125, 250]);
  });

  test('a limited number of times', async () => {
    const machine = new Answers(...Array.from({ length: 3 }, () => problem(503, 'unavailable', true)));
    const failure = clientOf(machine, 3).commit(commit);
    await expect(failure).rejects.toMatchObject({ status: 503, code: 'unavailable' });
    expect([machine.sent.length, machine.pauses.length]).toEqual([3, 2]);
  });
});

test.each<[string, Response]>([
  ['409', problem(409, 'fence_conflict', false)],
  ['503 of a full disk', problem(503, 'storage_full', false)],
  ['500', problem(500, 'internal_error', false)],
  ['401 of something before the service', new Response('', { status: 401 })],
  ['a redirection', new Response(null, { status: 302, headers: { location: 'https://elsewhere' } })],
])('%s is not sent again', async (_, answer) => {
  const machine = new Answers(answer);
  await expect(clientOf(machine).commit(commit)).rejects.toMatchObject({ status: answer.status });
  expect(machine.pauses).toEqual([]);
});

test('a refusal says what the service said', async () => {
  const refused = clientOf(new Answers(problem(409, 'fence_conflict', false))).commit(commit);
  await expect(refused).rejects.toThrow('/transactions was answered 409 fence_conflict why');
});

describe('how long it waits', () => {
  test.each([
    ['seconds', { 'retry-after': '7' }, 7000],
    [
      'a date, by the clock of the answer',
      { 'retry-after': 'Thu, 01 Jan 2026 00:00:09 GMT', date: 'Thu, 01 Jan 2026 00:00:00 GMT' },
      9000,
    ],
    [
      'a date that is over',
      { 'retry-after': 'Thu, 01 Jan 2026 00:00:00 GMT', date: 'Thu, 01 Jan 2026 00:00:09 GMT' },
      0,
    ],
    ['a date without a clock', { 'retry-after': 'Thu, 01 Jan 2026 00:00:00 GMT' }, 0],
    ['nonsense', { 'retry-after': 'soon' }, 0],
    ['a year', { 'retry-after': '31536000' }, 3_600_000],
    ['nothing', {}, 0],
  ])('Retry-After: %s', async (_, headers, expected) => {
    const machine = new Answers(problem(429, 'rate_limited', true, headers), done());
    await clientOf(machine).commit(commit);
    expect(machine.pauses).toEqual([expected + 125]);
  });

  test('grows by doubling up to a ceiling, and is spread', () => {
    expect([1, 2, 3, 100].map((attempt) => waitMs(attempt, null, 0))).toEqual([125, 250, 500, 7500]);
    expect([1, 2, 3, 100].map((attempt) => waitMs(attempt, null, 0.999_999))).toEqual([
      250, 500, 1000, 15_000,
    ]);
    expect(waitMs(1, 60_000, 0)).toBe(60_125);
  });
});

test('the client distinguishes a missing document from a missing route', async () => {
  const missing = clientOf(new Answers(problem(404, 'not_found', false)));
  expect(await missing.read('part', '1')).toBeNull();
  const disabled = clientOf(new Answers(problem(404, 'route_not_found', false)));
  await expect(disabled.read('part', '1')).rejects.toThrow(CallError);
});

test('pages are followed to the end, over one that is empty', async () => {
  const page = (items: readonly number[], continuationToken: string | null) =>
    new Response(JSON.stringify({ items, continuationToken }));
  const machine = new Answers(page([1, 2], 'a'), page([], 'b'), page([3], null));
  const pages = await collect(clientOf(machine).pages({ indexes: { importId: 'x' }, limit: 2 }));
  expect(pages).toEqual([[1, 2], [], [3]]);
  const tokens = machine.sent.map(
    ({ init }) => (JSON.parse(init.body as string) as { continuationToken: unknown }).continuationToken,
  );
  expect(tokens).toEqual([null, 'a', 'b']);
});

test('a signal ends a call, and the pause before the next one', async () => {
  const controller = new AbortController();
  const machine = new Answers(problem(503, 'unavailable', true));
  machine.pause = async () => controller.abort(new RangeError('enough'));
  const options = {
    address: 'https://svc.example.com',
    tenantId: 'acme',
    signal: controller.signal,
    machine,
  };
  await expect(new TenantClient(options).commit(commit)).rejects.toThrow('enough');
});
