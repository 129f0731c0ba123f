import { describe, expect, test } from 'vitest';
import type { OperationEntry } from '../../contracts/operation.ts';
import { bytesHandlers, bytesOperations } from '../../test/wire/fixture/bytes.ts';
import { echoChain, echoHandlers, echoOperations, echoOptions } from '../../test/wire/fixture/echo.ts';
import type { Authenticator } from '../identity/authenticator.ts';
import { createAuthorizer } from '../identity/authorizer.ts';
import type { Caller } from '../identity/caller.ts';
import { createCanonicalPolicy } from '../identity/canonical-access.ts';
import { ServiceError } from '../kernel/errors.ts';
import { StoreError } from '../store/port.ts';
import { inject } from './host-inject.ts';
import { createCall, type InProcessInput } from './in-process.ts';
import type { ChainOptions } from './options.ts';

const writer: Caller = { kind: 'workload', principal: 'writer@b' };
const reader: Caller = { kind: 'workload', principal: 'reader@b' };
const stranger: Caller = { kind: 'anonymous', principal: null };

const echo = { ...echoOperations['echo'], accessOperation: 'write' } as OperationEntry;
const operations = { ...echoOperations, echo };
const policy = createCanonicalPolicy({
  grants: [
    { principal: 'writer@b', tenantIds: ['t'], operations: ['write'] },
    { principal: 'reader@b', tenantIds: ['t'], operations: ['read'] },
  ],
});
const closed = (value: unknown): value is unknown =>
  typeof value === 'object' && value !== null && Object.keys(value).every((name) => name !== 'unknown');
const validators: ChainOptions['validators'] = {
  echo: () =>
    Promise.resolve({
      requestValidators: { echo: Object.assign(closed, { errors: null }) },
      responseValidators: {},
    }),
};

/** The same options for both ways, so that only the way differs. */
function bothWays(overrides: Partial<ChainOptions> = {}) {
  const options = {
    operations,
    validators,
    authorizer: createAuthorizer({ policies: { 'canonical-policy': policy } }),
  };
  const call = createCall(echoOptions({ ...options, ...overrides }));
  return {
    overHttp: async (id: 'echo' | 'getItem', input: InProcessInput, caller: Caller): Promise<unknown> => {
      const authenticator: Authenticator = { authenticate: () => Promise.resolve(caller) };
      const query = new URLSearchParams(
        Object.entries(input.query ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
      );
      const [first = ''] = Object.values(input.params ?? {});
      const segment = encodeURIComponent(first);
      const answer = await inject(echoChain({ ...options, ...overrides, authenticator }), {
        method: id === 'echo' ? 'POST' : 'GET',
        path: `${id === 'echo' ? `/canonical/tenants/${segment}/echo` : `/items/${segment}`}?${query.toString()}`,
        body: input.body,
        ...(input.headers ? { headers: input.headers } : {}),
      });
      const body = answer.json<{ code?: string; detail?: string }>();
      return answer.status === 200 ? body : [body.code, body.detail];
    },
    inProcess: async (id: string, input: InProcessInput, caller: Caller): Promise<unknown> => {
      try {
        return (await call(id, input, caller)).body;
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        return [error.code, error.message];
      }
    },
  };
}

const params = { tenantId: 't' };
const good: InProcessInput = { params, body: { a: 1 } };

describe('a call in process and a request over HTTP', () => {
  test.each<[string, InProcessInput, Caller, string]>([
    ['a stranger', good, stranger, 'unauthenticated'],
    ['a caller without the right', good, reader, 'permission_denied'],
    ['a caller of another tenant', { ...good, params: { tenantId: 'u' } }, writer, 'permission_denied'],
    ['a stranger with an invalid body', { ...good, body: [1] }, stranger, 'unauthenticated'],
    ['an invalid body', { ...good, body: 'text' }, writer, 'validation_failed'],
    ['an unknown member', { ...good, body: { unknown: 1 } }, writer, 'validation_failed'],
    ['an unknown query parameter', { ...good, query: { other: 1 } }, writer, 'validation_failed'],
    ['another tenant in the body', { ...good, body: { tenantId: 'u' } }, writer, 'tenant_mismatch'],
    [
      'a tenant that is no path segment',
      { ...good, params: { tenantId: 'a/b' } },
      writer,
      'invalid_path_segment',
    ],
    [
      'a body that is too large',
      { ...good, body: { a: 'x'.repeat(1024 * 1024) } },
      writer,
      'payload_too_large',
    ],
    ['a body that is nested too deep', { ...good, body: nested(200) }, writer, 'malformed_request'],
    ['a key that contradicts the body', keyed('k-1', { idempotencyKey: 'k-2' }), writer, 'validation_failed'],
    ['a key that is no key', keyed('k\u00e9'), writer, 'malformed_request'],
    ['a key that is too long', keyed('k'.repeat(161)), writer, 'limit_exceeded'],
  ])('%s: the same refusal', async (_, input, caller, code) => {
    const { overHttp, inProcess } = bothWays();
    const refusal = await inProcess('echo', input, caller);
    expect(refusal).toEqual([code, expect.any(String)]);
    expect(await overHttp('echo', { ...input, body: textOf(input.body) }, caller)).toEqual(refusal);
  });

  test.each<[string, InProcessInput, string]>([
    ['a value of another type', { query: { limit: 'ten' } }, 'validation_failed'],
    ['a value over its maximum', { query: { limit: 1001 } }, 'limit_exceeded'],
    ['a value that is no integer', { query: { limit: 1.5 } }, 'validation_failed'],
  ])('%s in the query: the same refusal', async (_, input, code) => {
    const { overHttp, inProcess } = bothWays();
    const item = { ...input, params: { itemId: 'a' } };
    expect(await inProcess('getItem', item, stranger)).toEqual([code, expect.any(String)]);
    expect(await overHttp('getItem', item, stranger)).toEqual(await inProcess('getItem', item, stranger));
  });

  test.each<[string, 'echo' | 'getItem', InProcessInput, Caller]>([
    ['members of the route', 'echo', good, writer],
    ['an idempotency key', 'echo', keyed('k-1'), writer],
    ['defaults of the query', 'getItem', { params: { itemId: 'a/b' }, query: { deep: true } }, stranger],
  ])('%s: the same input reaches the handler', async (_, id, input, caller) => {
    const { overHttp, inProcess } = bothWays();
    const answer = await inProcess(id, input, caller);
    expect(answer).not.toBeInstanceOf(Array);
    expect(await overHttp(id, input, caller)).toEqual(answer);
  });

  test.each<[string, Error, string]>([
    ['a refusal of the handler', new ServiceError('not_found', 'Not there.'), 'not_found'],
    ['a failure of the store', new StoreError('contention', 'busy'), 'store_contention'],
    ['an unexpected error', new Error('SECRET'), 'internal_error'],
  ])('%s: the same refusal', async (_, error, code) => {
    const { overHttp, inProcess } = bothWays({
      handlers: { ...echoHandlers(), echo: () => Promise.reject(error) },
    });
    const refusal = await inProcess('echo', good, writer);
    expect(refusal).toEqual([code, expect.not.stringContaining('SECRET')]);
    expect(await overHttp('echo', good, writer)).toEqual(refusal);
  });
});

describe('a call in process', () => {
  const { inProcess } = bothWays();

  test('names an operation and all of its path parameters', async () => {
    expect(await inProcess('other', good, writer)).toEqual(['route_not_found', expect.any(String)]);
    expect(await inProcess('toString', good, writer)).toEqual(['route_not_found', expect.any(String)]);
    expect(await inProcess('echo', { body: {} }, writer)).toEqual([
      'invalid_path_segment',
      expect.any(String),
    ]);
    const surplus = { ...good, params: { ...params, other: 'x' } };
    expect(await inProcess('echo', surplus, writer)).toEqual(['validation_failed', expect.any(String)]);
  });

  test('hands the handler a copy of the body', async () => {
    const body = { a: { b: 1 }, absent: undefined };
    const answer = (await inProcess('echo', { params, body }, writer)) as { body: typeof body };
    expect(answer.body).toEqual({ a: { b: 1 }, tenantId: 't' });
    expect(answer.body.a).not.toBe(body.a);
  });

  test('carries the caller, the time and the signals to the handler', async () => {
    const draining = new AbortController().signal;
    let context: unknown;
    const call = createCall(
      echoOptions({
        handlers: {
          ...echoHandlers(),
          getItem: (_input, given) => {
            context = given;
            return Promise.resolve({ status: 200, body: {} });
          },
        },
      }),
    );
    await call('getItem', { params: { itemId: 'a' } }, reader, { correlationId: 'c-1', draining });
    expect(context).toMatchObject({
      caller: reader,
      correlationId: 'c-1',
      draining,
      now: expect.any(Number),
    });
  });

  test('checks the answer where answers are checked', async () => {
    const handlers = { ...echoHandlers(), getItem: () => Promise.resolve({ status: 201, body: {} }) };
    const call = createCall(echoOptions({ handlers, validateResponses: true }));
    await expect(call('getItem', { params: { itemId: 'a' } }, stranger)).rejects.toMatchObject({
      code: 'internal_error',
    });
  });
});

function keyed(key: string, body: object = {}): InProcessInput {
  return { params, body, headers: { 'idempotency-key': key } };
}

function nested(depth: number): unknown {
  return depth === 0 ? {} : { a: nested(depth - 1) };
}

/** A text would go over HTTP as it is. */
function textOf(body: unknown): unknown {
  return typeof body === 'string' ? JSON.stringify(body) : body;
}

test('a stream of bytes keeps the limit that HTTP sets', async () => {
  const echoed = echoOptions();
  const call = createCall(
    echoOptions({
      operations: { ...echoed.operations, ...bytesOperations },
      handlers: { ...echoed.handlers, ...bytesHandlers },
    }),
  );
  const stream = async function* (size: number) {
    for (let sent = 0; sent < size; sent += 1_024) yield new Uint8Array(1_024);
  };
  const put = (size: number) => call('putBytes', { body: stream(size) }, stranger);
  expect((await put(4_096)).body).toMatchObject({ size: 4_096 });
  await expect(put(5_120)).rejects.toMatchObject({ code: 'payload_too_large' });
});
