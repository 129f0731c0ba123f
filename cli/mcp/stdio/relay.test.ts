import { describe, expect, test } from 'vitest';
import { RemoteFailure } from '../../remote/failure.ts';
import type { HttpAnswer } from './answer.ts';
import { Relay, type RelayOptions } from './relay.ts';

/** The relay beside a service that answers when the test says so. */

interface Posted {
  readonly body: Record<string, unknown>;
  readonly fields: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly answer: (given: Partial<HttpAnswer> & { readonly text?: string }) => void;
  readonly fail: (error: Error) => void;
}

function stage(bounds: Partial<RelayOptions> = {}) {
  const posted: Posted[] = [];
  const written: string[] = [];
  const logged: string[] = [];
  let wake: () => void = () => undefined;
  const relay = new Relay({
    post: (body, fields, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')));
        posted.push({
          body: JSON.parse(body.toString()) as Record<string, unknown>,
          fields: Object.fromEntries(fields),
          signal,
          answer: (given) => resolve(answerOf(given)),
          fail: reject,
        });
        wake();
      }),
    write: (line) => {
      written.push(line);
      return Promise.resolve();
    },
    log: (text) => logged.push(text),
    lineBytesMax: 1_000,
    atWorkMax: 2,
    callsMax: 2,
    waitingMax: 2,
    waitingBytesMax: 500,
    ...bounds,
  });
  const send = (message: object) => relay.take(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })));
  const answers = () => written.map((line) => JSON.parse(line) as Record<string, unknown>);
  /** Resolves once the service has got so many messages. */
  const reached = async (count: number): Promise<void> => {
    while (posted.length < count)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  };
  return { relay, posted, written, logged, send, answers, reached };
}

function answerOf({ text = '', ...given }: Partial<HttpAnswer> & { readonly text?: string }): HttpAnswer {
  return {
    status: 200,
    mediaType: 'application/json',
    chunks: (async function* () {
      yield Buffer.from(text);
    })(),
    body: () => Promise.resolve(Buffer.from(text)),
    refusal: (body) => Promise.resolve(`${given.status} ${body.toString()}`),
    ...given,
  };
}

const result = (id: unknown, value: object = {}) => JSON.stringify({ jsonrpc: '2.0', id, result: value });
const request = (id: unknown, method = 'tools/list') => ({ id, method });

describe('an answer', () => {
  test('is written as it came, on one line', async () => {
    const { relay, posted, written, send } = stage();
    send(request(1));
    posted[0]?.answer({ text: '{"jsonrpc":"2.0",\n"id":1,"result":{"n":12345678901234567890}}\n' });
    await relay.settled();
    expect(written).toEqual(['{"jsonrpc":"2.0", "id":1,"result":{"n":12345678901234567890}}']);
  });

  test('with progress is written line by line, and ends with the response', async () => {
    const { relay, posted, answers, send } = stage();
    send(request('a'));
    const progress = JSON.stringify({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progress: 1 },
    });
    const text = `data: ${progress}\n\n: alive\n\ndata: ${result('a')}\n\ndata: ${result('a')}\n\n`;
    posted[0]?.answer({ mediaType: 'text/event-stream', text });
    await relay.settled();
    expect(answers()).toEqual([JSON.parse(progress), JSON.parse(result('a'))]);
  });

  test('whose stream ends early becomes an error that says what to do', async () => {
    const { relay, posted, answers, send } = stage();
    send(request(1));
    posted[0]?.answer({ mediaType: 'text/event-stream', text: `data: ${result(1)}` });
    await relay.settled();
    expect(answers()).toMatchObject([
      { id: 1, error: { code: -32_603, message: expect.stringMatching(/idempotencyKey/) } },
    ]);
  });

  test('without an id gets that of its request', async () => {
    const { relay, posted, answers, send } = stage();
    send(request(7));
    posted[0]?.answer({ status: 400, text: '{"jsonrpc":"2.0","error":{"code":-32700,"message":"bad"}}' });
    await relay.settled();
    expect(answers()).toEqual([{ jsonrpc: '2.0', id: 7, error: { code: -32_700, message: 'bad' } }]);
  });

  test('of another request is not passed on', async () => {
    const { relay, posted, answers, send } = stage();
    send(request(7));
    posted[0]?.answer({ text: result(8) });
    await relay.settled();
    expect(answers()).toMatchObject([{ id: 7, error: { code: -32_603 } }]);
  });

  test.each([
    [401, /credential/],
    [404, /Mcp:Enabled/],
    [503, /Try again/],
  ])('of HTTP with %i becomes an error with the status and a remedy', async (status, words) => {
    const { relay, posted, answers, send } = stage();
    send(request(1));
    posted[0]?.answer({ status, mediaType: 'application/problem+json', text: 'why', retryAfterSeconds: 3 });
    await relay.settled();
    expect(answers()).toMatchObject([
      { id: 1, error: { message: expect.stringMatching(words), data: { status, retryAfterSeconds: 3 } } },
    ]);
  });
});

describe('a connection', () => {
  test.each([
    [false, /Nothing was executed/],
    [true, /idempotencyKey/],
  ])('that broke becomes an error (sent: %s)', async (sent, words) => {
    const { relay, posted, answers, send } = stage();
    send(request(1));
    posted[0]?.fail(new RemoteFailure('http://a broke the connection off.', sent, null));
    await relay.settled();
    expect(answers()).toMatchObject([
      { id: 1, error: { code: -32_603, message: expect.stringMatching(words) } },
    ]);
  });
});

describe('a notification', () => {
  test('is forwarded and never answered', async () => {
    const { relay, posted, written, logged, send } = stage();
    send({ method: 'notifications/initialized' });
    posted[0]?.answer({ status: 202, mediaType: '' });
    await relay.settled();
    send({ method: 'notifications/initialized' });
    posted[1]?.answer({ status: 401, mediaType: 'application/problem+json', text: 'no' });
    await relay.settled();
    expect(written).toEqual([]);
    expect(logged).toEqual(['notifications/initialized was refused: 401 no']);
  });

  test('cancels: the request to the service ends, and nothing is answered', async () => {
    const { relay, posted, written, send } = stage({ atWorkMax: 1 });
    send(request(1));
    send(request(2));
    const cancel = (requestId: unknown) => send({ method: 'notifications/cancelled', params: { requestId } });
    cancel('1');
    expect(posted[0]?.signal.aborted).toBe(false);
    cancel(2);
    cancel(1);
    expect(posted[0]?.signal.aborted).toBe(true);
    await relay.settled();
    expect([posted.length, written]).toEqual([1, []]);
  });
});

describe('the version', () => {
  test('of initialize travels with later requests, and a modern request keeps its own', async () => {
    const { relay, posted, send } = stage();
    send(request(1, 'initialize'));
    posted[0]?.answer({ text: result(1, { protocolVersion: '2025-06-18' }) });
    await relay.settled();
    send(request(2));
    const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
    send({ id: 3, method: 'tools/list', params: { _meta: meta } });
    expect(posted.map(({ fields }) => fields)).toEqual([
      {},
      { 'MCP-Protocol-Version': '2025-06-18' },
      { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/list' },
    ]);
  });

  test('travels with the messages that came before the answer of initialize too: they wait for it', async () => {
    const { relay, posted, answers, send, reached } = stage();
    send(request(1, 'initialize'));
    send({ method: 'notifications/initialized' });
    send(request(2));
    send(request(3));
    expect(posted).toHaveLength(1);
    expect(answers()).toMatchObject([{ id: 3, error: { message: expect.stringMatching(/Too many/) } }]);
    posted[0]?.answer({ text: result(1, { protocolVersion: '2025-11-25' }) });
    await reached(3);
    expect(posted.slice(1).map(({ body, fields }) => [body['method'], fields])).toEqual([
      ['notifications/initialized', { 'MCP-Protocol-Version': '2025-11-25' }],
      ['tools/list', { 'MCP-Protocol-Version': '2025-11-25' }],
    ]);
    posted[1]?.answer({ status: 202, mediaType: '' });
    posted[2]?.answer({ text: result(2) });
    await relay.settled();
  });

  test('is not waited for after a failed, a cancelled or a stopped initialize', async () => {
    const { relay, posted, answers, send, reached } = stage();
    send(request(1, 'initialize'));
    send(request(2, 'initialize'));
    send(request(3));
    posted[0]?.fail(new RemoteFailure('http://a broke the connection off.', true, null));
    await reached(2);
    send({ method: 'notifications/cancelled', params: { requestId: 2 } });
    await reached(3);
    posted[2]?.answer({ text: result(3) });
    await relay.settled();
    send(request(4, 'initialize'));
    send(request(5));
    relay.stop();
    await relay.settled();
    expect(answers().map(({ id }) => id)).toEqual([1, 3, 4, 5]);
  });

  test('of a refused initialize is none', async () => {
    const { relay, posted, send } = stage();
    send(request(1, 'initialize'));
    posted[0]?.answer({
      status: 400,
      text: '{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no"}}',
    });
    await relay.settled();
    send(request(2));
    expect(posted[1]?.fields).toEqual({});
  });
});

describe('the bounds', () => {
  test('let so many requests work, keep so many, and refuse the rest at once', async () => {
    const { relay, posted, answers, send, reached } = stage();
    for (const id of [1, 2, 3, 4, 5]) send(request(id));
    expect(posted.map(({ body }) => body['id'])).toEqual([1, 2]);
    expect(answers()).toMatchObject([{ id: 5, error: { message: expect.stringMatching(/Too many/) } }]);
    posted[1]?.answer({ text: result(2) });
    posted[0]?.answer({ text: result(1) });
    await reached(4);
    posted[2]?.answer({ text: result(3) });
    posted[3]?.answer({ text: result(4) });
    await relay.settled();
    expect(new Set(answers().map(({ id }) => id))).toEqual(new Set([1, 2, 3, 4, 5]));
    expect(answers()).toHaveLength(5);
  });

  test('count the bytes that wait', () => {
    const { answers, send } = stage({ atWorkMax: 1 });
    send(request(1));
    send({ ...request(2), params: { text: 'a'.repeat(400) } });
    send({ ...request(3), params: { text: 'a'.repeat(400) } });
    expect(answers()).toMatchObject([{ id: 3 }]);
  });

  test('keep places for short messages beside calls of tools, and pass the cancellation of work', () => {
    const { posted, answers, send } = stage({ atWorkMax: 4 });
    const call = (id: number, name = 'a') => send({ id, method: 'tools/call', params: { name } });
    for (const id of [1, 2, 3, 4, 5]) call(id);
    expect(answers()).toMatchObject([{ id: 5, error: { message: expect.stringMatching(/Too many/) } }]);
    send(request(6, 'ping'));
    call(7, 'svc_tasks_cancel_v1');
    expect(posted.map(({ body }) => body['id'])).toEqual([1, 2, 6, 7]);
    send(request(8, 'ping'));
    expect(answers().map(({ id }) => id)).toEqual([5, 8]);
  });

  test('take a call that waits in its turn once another one ends', async () => {
    const { relay, posted, send, reached } = stage({ atWorkMax: 4, callsMax: 1 });
    const call = (id: number) => send({ id, method: 'tools/call', params: { name: 'a' } });
    for (const id of [1, 2, 3]) call(id);
    send(request(4));
    for (const [index, id] of [1, 4, 2, 3].entries()) {
      await reached(index + 1);
      expect(posted[index]?.body['id']).toBe(id);
      posted[index]?.answer({ text: result(id) });
    }
    await relay.settled();
  });

  test('refuse a second request with the same id without it, and not one whose id is of another type', () => {
    const { posted, answers, send } = stage();
    send(request(1));
    send(request('1'));
    send(request(1));
    expect(posted).toHaveLength(2);
    expect(answers()).toMatchObject([{ error: { code: -32_600 } }]);
    expect(answers()[0]?.['id'] ?? null).toBeNull();
  });
});

test('a stop ends every request, and each has its answer', async () => {
  const { relay, posted, answers, send } = stage({ atWorkMax: 1 });
  send(request(1));
  send(request(2));
  relay.stop();
  await relay.settled();
  expect(posted).toHaveLength(1);
  expect(answers()).toMatchObject([
    { id: 1, error: { message: expect.stringMatching(/stopped/) } },
    { id: 2, error: { message: expect.stringMatching(/stopped/) } },
  ]);
});
