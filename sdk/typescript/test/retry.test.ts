import { describe, expect, test } from 'vitest';
import table from '../../retry-table.json' with { type: 'json' };
import {
  APIConnectionError,
  ConflictError,
  InternalServerError,
  RateLimitError,
  SvcError,
  UnavailableError,
} from '../src/index.ts';
import { type Failure, RETRY_AFTER_MS_MAX, retryAfterOf, retryDelay } from '../src/retry.ts';
import { foreign, hangUp, json, ManualTime, problem, Stage, thrown } from './stage.ts';

const seconds = (value: number | null | undefined) => (value == null ? null : value * 1000);

describe('the table that all SDKs share', () => {
  test.each(table.cases)('$name', ({ failure, remainingSeconds, delaySeconds, ...question }) => {
    const { kind, retryAfterSeconds, ...status } = { retryAfterSeconds: null, ...failure };
    const asked =
      kind === 'status' ? { kind, ...status, retryAfterMs: seconds(retryAfterSeconds) } : { kind };
    const delay = retryDelay({
      ...question,
      retry: question.retry as 'safe' | 'with-key' | 'never',
      failure: asked as Failure,
      remainingMs: remainingSeconds * 1000,
    });
    expect(delay).toBe(seconds(delaySeconds));
  });

  test('names every case once', () => {
    expect(new Set(table.cases.map(({ name }) => name)).size).toBe(table.cases.length);
  });
});

/** Seconds, or a marker for a delay above the client's limit. */
function longOr(found: number | null): number | string | null {
  return found !== null && found * 1000 > RETRY_AFTER_MS_MAX ? 'too long' : found;
}

describe('Retry-After', () => {
  test.each(table.retryAfter)(
    '$name',
    ({ header, nowEpochSeconds, bodyRetryAfterSeconds, seconds: expected }) => {
      const found = retryAfterOf(header, bodyRetryAfterSeconds, nowEpochSeconds * 1000);
      expect(longOr(found)).toBe(expected);
      // The error's members survive JSON.
      expect(JSON.parse(JSON.stringify(found))).toBe(found);
    },
  );

  test('names every case once', () => {
    expect(new Set(table.retryAfter.map(({ name }) => name)).size).toBe(table.retryAfter.length);
  });

  test.each([Number.NaN, undefined, 3n])('is not %s of a body', (body) => {
    expect(retryAfterOf(null, body, 0)).toBeNull();
  });

  test('too long is neither waited for nor retried', async () => {
    await using stage = await Stage.open(
      foreign(503, { 'retry-after': '9'.repeat(400) }),
      problem(503, 'unavailable', { retryable: true, retryAfterSeconds: 1e300 }, { 'retry-after': '1' }),
    );
    const world = new ManualTime();
    for (const _ of [1, 2]) {
      const error = await thrown(stage.client({ world }).health(), UnavailableError);
      expect(error.retryAfter).toBe(172_800);
    }
    expect(stage.seen).toHaveLength(2);
  });

  test('is waited for as long as the longer of header and body say', async () => {
    const said = problem(
      503,
      'unavailable',
      { retryable: true, retryAfterSeconds: 5 },
      { 'retry-after': '2' },
    );
    await using stage = await Stage.open(said, json({}));
    const world = new ManualTime();
    const call = stage.client({ world }).health();
    await world.pass(5000);
    await call;
  });

  test('that is invalid in a body does not stop the retry of a read', async () => {
    const odd = problem(503, 'unavailable', { retryable: true, retryAfterSeconds: '61' });
    await using stage = await Stage.open(odd, json({}));
    const world = new ManualTime();
    const call = stage.client({ world }).health();
    await world.pass(500);
    await call;
  });
});

const contended = problem(
  503,
  'store_contention',
  { retryable: true, retryAfterSeconds: 1 },
  { 'retry-after': '1' },
);
const committed = json({ transactionId: 'x', replayed: false });
const commit = { idempotencyKey: 'once' };

describe('over a socket', () => {
  test('a read is retried after the pause, and the last answer is the result', async () => {
    await using stage = await Stage.open(hangUp, contended, json({ status: 'ok' }));
    const world = new ManualTime();
    const call = stage.client({ world }).health();
    await world.pass(500);
    await world.pass(1000);
    expect(await call).toEqual({ status: 'ok' });
    expect(stage.seen).toHaveLength(3);
    expect(world.pending).toEqual([]);
  });

  test('a commit with a key is retried unchanged', async () => {
    await using stage = await Stage.open(hangUp, committed);
    const world = new ManualTime();
    const call = stage.client({ world }).commitCanonicalTransaction('t', commit);
    await world.pass(500);
    await call;
    const [first, second] = stage.seen;
    expect(second).toEqual(first);
    expect(first?.body.toString()).toBe('{"idempotencyKey":"once"}');
  });

  test.each([
    {},
    { idempotencyKey: '' },
    { idempotencyKey: '  ' },
    { idempotencyKey: 7 },
    { idempotencyKey: null },
  ])('a commit with %j is not retried', async (request) => {
    await using stage = await Stage.open(contended);
    const call = stage.client().commitCanonicalTransaction('t', request as never);
    await thrown(call, UnavailableError);
    expect(stage.seen).toHaveLength(1);
  });

  test.each([
    ['as an option', { handlerId: 'h' }, { idempotencyKey: 'k' }, 2],
    ['as a header', { handlerId: 'h' }, { headers: { 'Idempotency-Key': 'k' } }, 2],
    ['in the request', { handlerId: 'h', idempotencyKey: 'k' }, {}, 2],
    ['in both', { handlerId: 'h', idempotencyKey: 'k' }, { idempotencyKey: 'k' }, 2],
    ['blank in both', { handlerId: 'h', idempotencyKey: ' ' }, { idempotencyKey: '' }, 1],
    ['nowhere', { handlerId: 'h' }, {}, 1],
  ])('a start with its key %s', async (_, request, options, times) => {
    await using stage = await Stage.open(hangUp, contended);
    const world = new ManualTime();
    const call = stage.client({ world, maxRetries: 1 }).startExecutionRun(request, options);
    const failed = thrown(call, SvcError);
    // A client that does not wait has failed by then.
    await Promise.race([world.pass(500), failed]);
    await failed;
    expect(stage.seen).toHaveLength(times);
  });

  test('the key must be where the operation reads it', async () => {
    await using stage = await Stage.open(contended);
    const headers = { 'Idempotency-Key': 'k' };
    await thrown(stage.client().commitCanonicalTransaction('t', {} as never, { headers }), UnavailableError);
    await thrown(
      stage
        .client()
        .leaseCanonicalOutbox('t', { consumerId: 'c', idempotencyKey: 'k' } as never, { headers }),
      UnavailableError,
    );
    expect(stage.seen).toHaveLength(2);
  });

  test.each([
    ['leaseCanonicalOutbox', ['t', { consumerId: 'c' }]],
    ['acknowledgeCanonicalOutbox', ['t', 'e', { leaseToken: 'l' }]],
    ['restoreCanonicalTenant', ['t', { snapshot: {} }]],
    ['applyCanonicalMigrations', [[]]],
    ['probeCanonicalDataPlane', []],
  ] as const)('%s is never retried', async (method, given) => {
    await using stage = await Stage.open(hangUp);
    const client = stage.client() as unknown as Record<string, (...all: unknown[]) => Promise<unknown>>;
    await thrown(client[method]?.(...given) ?? Promise.resolve(), APIConnectionError);
    expect(stage.seen).toHaveLength(1);
  });

  test('a conflict is never retried', async () => {
    await using stage = await Stage.open(problem(409, 'idempotency_conflict', { retryable: true }));
    await thrown(stage.client().commitCanonicalTransaction('t', commit), ConflictError);
    expect(stage.seen).toHaveLength(1);
  });

  test('maxRetries of the call overrides that of the client', async () => {
    await using stage = await Stage.open(contended);
    const client = stage.client({ maxRetries: 5 });
    await thrown(client.health({ maxRetries: 0 }), UnavailableError);
    expect(stage.seen).toHaveLength(1);
  });

  test('an answer that breaks off is a failed connection', async () => {
    await using stage = await Stage.open(
      (response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
        // Send the written bytes, then close the connection.
        response.write('{"a":', () => response.socket?.end());
      },
      json({ status: 'ok' }),
    );
    const world = new ManualTime();
    const call = stage.client({ world }).health();
    await world.pass(500);
    expect(await call).toEqual({ status: 'ok' });
  });

  test('the error is that of the last try, and names the time to wait', async () => {
    await using stage = await Stage.open(foreign(500), foreign(429, { 'retry-after': '61' }));
    await thrown(stage.client().health(), InternalServerError);
    const error = await thrown(stage.client().health(), RateLimitError);
    expect(error).toMatchObject({ retryAfter: 61, retryable: null, problem: null });
    expect(stage.seen).toHaveLength(2);
  });

  test('random numbers come from the world', async () => {
    await using stage = await Stage.open(hangUp, json({}));
    const world = new ManualTime();
    world.chance = 0.5;
    const call = stage.client({ world }).health();
    await world.pass(437.5);
    await call;
  });
});
