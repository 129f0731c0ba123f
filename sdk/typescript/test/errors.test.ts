import { describe, expect, expectTypeOf, test } from 'vitest';
import * as sdk from '../src/index.ts';
import {
  APIConnectionError,
  APIResponseError,
  APIStatusError,
  APITimeoutError,
  BadRequestError,
  type Problem,
  type ProblemDetails,
  SvcError,
  UnavailableError,
} from '../src/index.ts';
import { problemOf } from '../src/problem.ts';
import { foreign, hangUp, json, problem, Stage, thrown } from './stage.ts';

const once = { maxRetries: 0 };

describe('the class of an answer that is no success', () => {
  // Literals: consumers depend on them in `instanceof`.
  test.each<[number, string]>([
    [400, 'BadRequestError'],
    [401, 'AuthenticationError'],
    [403, 'PermissionDeniedError'],
    [404, 'NotFoundError'],
    [405, 'APIStatusError'],
    [408, 'APIStatusError'],
    [409, 'ConflictError'],
    [412, 'PreconditionFailedError'],
    [413, 'PayloadTooLargeError'],
    [415, 'APIStatusError'],
    [422, 'UnprocessableEntityError'],
    [429, 'RateLimitError'],
    [431, 'APIStatusError'],
    [500, 'InternalServerError'],
    [502, 'InternalServerError'],
    [503, 'UnavailableError'],
    [504, 'InternalServerError'],
    [307, 'APIStatusError'],
  ])('%i is a %s', async (status, name) => {
    await using stage = await Stage.open(problem(status, 'some_code'), foreign(status));
    for (const code of ['some_code', null]) {
      const error = await thrown(stage.client(once).health(), APIStatusError);
      expect(error.constructor).toBe((sdk as Readonly<Record<string, unknown>>)[name]);
      expect(error).toMatchObject({ name, status, code, operation: 'getHealth' });
      expect(error).toBeInstanceOf(SvcError);
    }
  });

  test('the tree', () => {
    expect(new APITimeoutError('')).toBeInstanceOf(APIConnectionError);
    expect(new APIConnectionError('')).toBeInstanceOf(SvcError);
    expect(new sdk.APIAbortError('')).not.toBeInstanceOf(APIConnectionError);
    expect(UnavailableError.prototype).toBeInstanceOf(APIStatusError);
  });
});

describe('the members of an error', () => {
  test('are those of the problem document', async () => {
    const errors = [{ pointer: '/mutations/0', detail: 'must not', keyword: 'required' }];
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const more = { errors, traceId, hint: 'more' };
    await using stage = await Stage.open(problem(400, 'validation_failed', more, { 'x-other': 'y' }));
    const error = await thrown(stage.client().health(), BadRequestError);
    expect(error).toMatchObject({
      code: 'validation_failed',
      retryable: false,
      retryAfter: null,
      correlationId: 'c-1',
      traceId,
      errors,
    });
    expect(error.problem).toMatchObject({ instance: 'urn:svc:request:c-1', ...more });
    expect(error.headers.get('x-other')).toBe('y');
    expect(error.message).toBe(
      '400 The title of validation_failed [validation_failed]: What happened with validation_failed.',
    );
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: 'BadRequestError',
      message: error.message,
      operation: 'getHealth',
      target: `GET ${stage.address}/health`,
      status: 400,
      code: 'validation_failed',
      retryable: false,
      retryAfter: null,
      correlationId: 'c-1',
      traceId,
      errors,
    });
  });

  test('come from the headers where the body has no problem document', async () => {
    await using stage = await Stage.open(foreign(503, { 'x-correlation-id': 'c-9', 'retry-after': '90' }));
    const error = await thrown(stage.client().health(), UnavailableError);
    expect(error).toMatchObject({
      correlationId: 'c-9',
      traceId: null,
      retryAfter: 90,
      retryable: null,
      errors: [],
    });
    expect(error.message).toBe('503: without a problem document');
  });

  test('take the time of a retry from the body too: a browser may not read the header', async () => {
    await using stage = await Stage.open(
      problem(429, 'rate_limited', { retryable: true, retryAfterSeconds: 99.5 }),
    );
    expect(await thrown(stage.client().health(), sdk.RateLimitError)).toMatchObject({ retryAfter: 99.5 });
  });

  test('hold no problem where the document comes from another service', () => {
    const sound: Problem = {
      type: 't',
      title: 't',
      status: 400,
      detail: 'd',
      instance: 'i',
      code: 'c',
      retryable: false,
      correlationId: 'c',
    };
    expect(problemOf('application/problem+json', JSON.stringify(sound))).toEqual(sound);
    expect(problemOf('application/json', JSON.stringify(sound))).toBeNull();
    const broken = [
      '',
      'null',
      '[]',
      '"c"',
      '{',
      ...Object.entries({ code: 1, retryable: 'no', errors: {}, title: null }).map(([name, value]) =>
        JSON.stringify({ ...sound, [name]: value }),
      ),
    ];
    for (const text of broken) expect(problemOf('application/problem+json', text), text).toBeNull();
    const errors = [
      { pointer: '/a', detail: 'd', keyword: 'k' },
      { pointer: '', detail: 'd' },
    ];
    for (const more of [{ errors }, { errors: [] }, { retryAfterSeconds: 0.5 }, { hint: null }])
      expect(problemOf('application/problem+json', JSON.stringify({ ...sound, ...more }))).toEqual({
        ...sound,
        ...more,
      });
  });

  test.each([
    null,
    'no',
    1,
    [],
    { pointer: '' },
    { detail: 'd' },
    { pointer: 1, detail: 'd' },
    { pointer: '', detail: 'd', keyword: null },
  ])('leave out an invalid place: %j', async (place) => {
    const sound = { pointer: '/a', detail: 'd', keyword: 'k' };
    await using stage = await Stage.open(problem(400, 'validation_failed', { errors: [place, sound] }));
    const error = await thrown(stage.client().health(), BadRequestError);
    expect(error.errors).toEqual([sound]);
    expect(error.problem?.errors).toEqual([sound]);
  });

  test.each(['2', -1, true, null, {}, [2]])('leave out an invalid retry time: %j', (retryAfterSeconds) => {
    const { retryable, ...sound } = {
      type: 't',
      title: 't',
      status: 503,
      detail: 'd',
      instance: 'i',
      code: 'c',
      retryable: true,
      correlationId: 'c',
    };
    const text = JSON.stringify({ ...sound, retryable, retryAfterSeconds });
    expect(problemOf('application/problem+json', text)).toEqual({ ...sound, retryable });
  });

  test('have the types of the contract', () => {
    expectTypeOf<ProblemDetails>().toExtend<Pick<Problem, keyof ProblemDetails>>();
    expectTypeOf<Required<Pick<Problem, keyof ProblemDetails>>>().toExtend<Required<ProblemDetails>>();
  });
});

describe('answers that a client cannot use', () => {
  test('a success that is no JSON', async () => {
    await using stage = await Stage.open(foreign(200));
    const error = await thrown(stage.client().health(), APIResponseError);
    expect(error.message).not.toContain('proxy');
    expect(stage.seen).toHaveLength(1);
  });

  test('no answer at all', async () => {
    await using stage = await Stage.open(hangUp);
    const error = await thrown(stage.client(once).health(), APIConnectionError);
    expect(error).not.toBeInstanceOf(APITimeoutError);
    expect(error.cause).toBeInstanceOf(Error);
  });

  test('a redirect is not followed, and the error names it', async () => {
    await using elsewhere = await Stage.open(json({}));
    await using stage = await Stage.open(foreign(307, { location: elsewhere.address }));
    const client = stage.client({ apiKey: 'k', token: 't' });
    expect((await thrown(client.health(), APIStatusError)).message).toContain('redirect');
    expect(elsewhere.seen).toEqual([]);
  });

  test('a redirect that a browser hides', async () => {
    const hidden = Object.defineProperty(Response.error(), 'type', { value: 'opaqueredirect' });
    await using stage = await Stage.open(silence());
    const client = stage.client({ fetch: () => Promise.resolve(hidden) });
    const error = await thrown(client.health(), APIStatusError);
    expect(error.constructor).toBe(APIStatusError);
    expect(error).toMatchObject({ status: 0, code: null, problem: null, retryAfter: null });
    expect(error.message).toContain('redirect');
  });

  test('a later release may answer with another success', async () => {
    await using stage = await Stage.open(json({ more: 1 }, 202), (response) => response.writeHead(204).end());
    expect(await stage.client().health()).toEqual({ more: 1 });
    expect(await stage.client().health()).toBeNull();
  });

  test('a status of failure that the contract describes is a result', async () => {
    const report = { dataPlaneProbe: null };
    await using stage = await Stage.open(json(report, 503), problem(503, 'unavailable'));
    const { data, response } = await stage.client(once).getCanonicalPreflight().withResponse();
    expect([data, response.status]).toEqual([report, 503]);
    await thrown(stage.client(once).getCanonicalPreflight(), UnavailableError);
  });
});

function silence() {
  return () => {};
}

describe('the answer itself', () => {
  test('comes with its status and headers', async () => {
    await using stage = await Stage.open(
      json({ a: 1 }, 200, { 'idempotency-replayed': 'true', 'x-correlation-id': 'c-2' }),
    );
    const { data, response } = await stage
      .client()
      .commitCanonicalTransaction('t', { idempotencyKey: 'k' })
      .withResponse();
    expect(data).toEqual({ a: 1 });
    expect(response).toMatchObject({ status: 200, correlationId: 'c-2' });
    expect(response.headers.get('idempotency-replayed')).toBe('true');
  });

  test('comes with its body unread', async () => {
    await using stage = await Stage.open(json({ a: 1.5 }));
    const response = await stage.client().health().asResponse();
    expect(response.bodyUsed).toBe(false);
    expect(await response.text()).toBe('{"a":1.5}');
  });

  test('throws a refusal too', async () => {
    await using stage = await Stage.open(problem(404, 'not_found'));
    await thrown(stage.client().health().asResponse(), sdk.NotFoundError);
    await thrown(stage.client().health().withResponse(), sdk.NotFoundError);
  });

  test('cannot be requested after the call was awaited', async () => {
    await using stage = await Stage.open(json({}));
    const call = stage.client().health();
    await call;
    await thrown(call.asResponse(), SvcError);
  });

  test('a call is sent although its caller never awaits it', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using stage = await Stage.open((response) => {
      response.writeHead(204).end();
      resolve();
    });
    void stage.client().replayCanonicalOutbox('t', 'e');
    await promise;
    expect(stage.seen).toHaveLength(1);
  });
});
