import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deliveryListener } from '../src/worker/index.ts';
import { deliveryHandler } from '../src/worker/web.ts';
import { doors, ListenerDoor } from './delivery-doors.ts';
import { lostOnTheWay, moment, WorkPlace } from './worker-stage.ts';

let place: WorkPlace;
beforeAll(async () => {
  place = await WorkPlace.open(10);
});
afterAll(() => place[Symbol.asyncDispose]());

const message = (runId: string) => ({ runId, reason: 'run_ready', scheduledAtUtc: '2026-01-01T00:00:00Z' });

describe('a delivered run', () => {
  test('is executed, exactly that one, and once', async () => {
    const [first, second] = [await place.start('h0', 1), await place.start('h0', 2)];
    await using worker = place.worker({ h0: ({ payload }) => payload });
    expect(await worker.deliver({ runId: second.id })).toBe('executed');
    expect(await worker.deliver({ runId: second.id })).toBe('nothing');
    expect(await worker.deliver({ runId: 'absent' })).toBe('nothing');
    expect(await place.client.getExecutionRun(second.id)).toMatchObject({ status: 'succeeded', result: 2 });
    expect((await place.client.getExecutionRun(first.id)).status).toBe('queued');
  });

  test('that waits answers suspended, and continues with a delivery after its event', async () => {
    const run = await place.start('h1');
    await using worker = place.worker({
      h1: async ({ waitForExternalEvent }) => (await waitForExternalEvent('go'))?.payload,
    });
    expect(await worker.deliver({ runId: run.id })).toBe('suspended');
    expect(await worker.deliver({ runId: run.id })).toBe('nothing');
    await place.client.raiseExecutionEvent(run.id, { name: 'go', payload: 'on' });
    expect(await worker.deliver({ runId: run.id })).toBe('executed');
    expect(await place.client.getExecutionRun(run.id)).toMatchObject({ result: 'on', attempt: 2 });
  });
});

describe.each(doors)('the $name', ({ open }) => {
  test('answers 204 whether there was a run to lease or not', async () => {
    const run = await place.start('h2', 'a');
    await using worker = place.worker({ h2: ({ payload }) => payload });
    await using door = await open(worker);
    expect((await door.send(message(run.id))).status).toBe(204);
    expect((await place.client.getExecutionRun(run.id)).result).toBe('a');
    expect((await door.send({ runId: run.id }, { 'content-type': 'text/plain' })).status).toBe(204);
  });

  test('answers 204 for a handler that failed: the service knows when to try again', async () => {
    const run = await place.start('h3');
    await using worker = place.worker({ h3: () => Promise.reject(new Error('canary')) });
    await using door = await open(worker);
    expect((await door.send(message(run.id))).status).toBe(204);
    expect(await place.client.getExecutionRun(run.id)).toMatchObject({ failureClass: 'unknown' });
  });

  test('leases nothing for a refused request', async () => {
    const run = await place.start('h4');
    await using way = await place.way();
    await using worker = place.worker({ h4: () => null }, { way });
    await using door = await open(worker, { bodyBytesMax: 200 });
    const good = message(run.id);
    const refusals: [object | string, object, string, number][] = [
      [good, {}, 'GET', 405],
      [good, { 'x-svc-execution-dispatch': '' }, 'POST', 400],
      [good, { 'x-svc-execution-dispatch': '2' }, 'POST', 400],
      [good, { authorization: 'Bearer bad' }, 'POST', 401],
      ['{', {}, 'POST', 400],
      ['null', {}, 'POST', 400],
      [{ runId: '' }, {}, 'POST', 400],
      [{ runId: 7 }, {}, 'POST', 400],
      [{ runId: 'x'.repeat(161) }, {}, 'POST', 400],
      [{ runId: 'a\nb' }, {}, 'POST', 400],
      ['[]', {}, 'POST', 400],
      ['"7"', {}, 'POST', 400],
      ['['.repeat(190), {}, 'POST', 400],
      [{ ...good, scheduledAtUtc: {} }, {}, 'POST', 400],
      [{ ...good, reason: 1 }, {}, 'POST', 400],
      [{ ...good, more: 'x'.repeat(200) }, {}, 'POST', 413],
    ];
    for (const [body, headers, method, status] of refusals) {
      const answer = await door.send(body, headers, method);
      expect([body, method, answer.status]).toEqual([body, method, status]);
      expect(await answer.text()).not.toBe('');
    }
    expect(way.sent).toEqual([]);
    expect((await door.send(good)).status).toBe(204);
  });

  test.each<[string, unknown]>([
    ['throws', () => Promise.reject(new Error('canary'))],
    ['says nothing', () => undefined],
    ['gives what it found', () => ({ email: 'somebody' })],
  ])('refuses a delivery whose verify %s', async (_, verify) => {
    const run = await place.start('h5');
    await using worker = place.worker({ h5: () => null });
    await using door = await open(worker, { verify: verify as never });
    const answer = await door.send(message(run.id));
    expect([answer.status, await answer.text()]).toEqual([401, 'The caller is not verified.\n']);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    expect((await place.client.getExecutionRun(run.id)).status).toBe('queued');
  });

  test('answers 503 while all slots are in use, and while the worker stops', async () => {
    const runs = [await place.start('h7'), await place.start('h7')];
    const begun = moment();
    const end = moment();
    await using worker = place.worker({
      h7: async () => {
        begun.come();
        await end.came;
      },
    });
    await using door = await open(worker, { retryAfterSeconds: 3 });
    const first = door.send(message(runs[0]?.id ?? ''));
    await begun.came;
    const second = await door.send(message(runs[1]?.id ?? ''));
    expect([second.status, second.headers.get('retry-after')]).toEqual([503, '3']);
    const stopped = worker.stop();
    expect((await door.send(message(runs[1]?.id ?? ''))).status).toBe(503);
    end.come();
    expect((await first).status).toBe(204);
    await stopped;
    expect((await place.client.getExecutionRun(runs[1]?.id ?? '')).status).toBe('queued');
  });

  test('answers 500 where the run was not carried out, so that the queue delivers it again', async () => {
    const run = await place.start('h8');
    await using way = await place.way();
    way.meets('leases', lostOnTheWay);
    await using worker = place.worker({ h8: () => null }, { way });
    await using door = await open(worker);
    const answer = await door.send(message(run.id));
    expect([answer.status, await answer.text()]).toEqual([500, 'The run was not carried out.\n']);
    expect((await door.send(message(run.id))).status).toBe(204);
    expect((await place.client.getExecutionRun(run.id)).status).toBe('succeeded');
  });

  test('refuses a body that a parser has read before it', async () => {
    const run = await place.start('h6');
    await using worker = place.worker({ h6: () => null });
    await using door = await open(worker, { verify: readsBody as never });
    const answer = await door.send(message(run.id));
    expect([answer.status, await answer.text()]).toEqual([
      500,
      'The body was read before the delivery: install no body parser.\n',
    ]);
    expect((await place.client.getExecutionRun(run.id)).status).toBe('queued');
  });
});

/** A check that takes the body of either kind of request. */
async function readsBody(request: Request | AsyncIterable<Uint8Array>): Promise<boolean> {
  if (request instanceof Request) return (await request.text()) !== '';
  for await (const _ of request);
  return true;
}

test.each([
  ['deliveryListener', deliveryListener],
  ['deliveryHandler', deliveryHandler],
])('%s needs verify', async (name, make) => {
  await using worker = place.worker({ h6: () => null });
  expect(() => make(worker, {} as never)).toThrow(`${name} needs verify`);
  expect(() => make(worker, undefined as never)).toThrow(`${name} needs verify`);
});

test.each([
  [{ bodyBytesMax: Number.NaN }, 'bodyBytesMax must be a whole number from 1 to 16777216.'],
  [{ bodyBytesMax: Number.POSITIVE_INFINITY }, 'bodyBytesMax must be'],
  [{ bodyBytesMax: 0 }, 'bodyBytesMax must be'],
  [{ bodyBytesMax: '9' as never }, 'bodyBytesMax must be'],
  [{ retryAfterSeconds: 0.5 }, 'retryAfterSeconds must be a whole number from 0 to 86400.'],
  [{ retryAfterSeconds: -1 }, 'retryAfterSeconds must be'],
])('a delivery refuses the options %j', async (options, refusal) => {
  await using worker = place.worker({ h6: () => null });
  for (const make of [deliveryListener, deliveryHandler])
    expect(() => make(worker, { verify: () => true, ...options })).toThrow(refusal);
});

test('the listener refuses a body that is too large before all of it has arrived', async () => {
  await using worker = place.worker({ h9: () => null });
  await using door = await ListenerDoor.open(worker, { bodyBytesMax: 10 });
  const socket = connect(door.port, '127.0.0.1');
  const head = ['POST / HTTP/1.1', 'Host: x', 'X-Svc-Execution-Dispatch: 1', 'Authorization: Bearer good'];
  socket.write(`${[...head, 'Content-Length: 1000000'].join('\r\n')}\r\n\r\n${'x'.repeat(11)}`);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 413 .*connection: close/is);
});

test('the listener delivers nothing when the body is cut off, and serves on', async () => {
  const run = await place.start('h9');
  await using way = await place.way();
  await using worker = place.worker({ h9: () => null }, { way });
  const refused = moment();
  const listener = deliveryListener(worker, { verify: () => true });
  await using server = createServer((request, response) => {
    void listener(request, response).then(() => response.statusCode === 400 && refused.come());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  const body = JSON.stringify(message(run.id));
  const head = ['POST / HTTP/1.1', 'Host: x', 'X-Svc-Execution-Dispatch: 1', 'Content-Length: 1000'];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
  await refused.came;
  expect(way.sent).toEqual([]);
  const init = { method: 'POST', headers: { 'x-svc-execution-dispatch': '1' }, body };
  expect((await fetch(`http://127.0.0.1:${port}`, init)).status).toBe(204);
  server.closeAllConnections();
});

describe('the handler', () => {
  const reached: unknown[] = [];
  const worker = {
    deliver: (its: unknown) => Promise.resolve(reached.push(its)).then(() => 'executed' as const),
  };
  const handler = deliveryHandler(worker, { verify: () => true, bodyBytesMax: 40 });

  /** A body that stays open after these pieces. */
  function open(...pieces: readonly string[]): {
    readonly body: ReadableStream;
    readonly cancelled: unknown[];
  } {
    const cancelled: unknown[] = [];
    const body = new ReadableStream({
      start: (controller) => pieces.forEach((piece) => controller.enqueue(new TextEncoder().encode(piece))),
      cancel: (reason) => void cancelled.push(reason),
    });
    return { body, cancelled };
  }

  function post(body: ReadableStream | null, signal?: AbortSignal): Request {
    const headers = { 'x-svc-execution-dispatch': '1' };
    const init = { method: 'POST', headers, body, duplex: 'half' as const, signal: signal ?? null };
    return new Request('https://worker.example/tasks', init);
  }

  async function answerTo(request: Request): Promise<[number, string]> {
    const answer = await handler(request);
    return [answer.status, (await answer.text()).trim()];
  }

  test('refuses a body that is too large before all of it has arrived, and cancels the rest', async () => {
    const { body, cancelled } = open('x'.repeat(30), 'x'.repeat(11));
    expect(await answerTo(post(body))).toEqual([413, 'The body is larger than 40 bytes.']);
    expect(cancelled).toHaveLength(1);
  });

  test('takes 64 KiB if no limit is given, as in Python', async () => {
    const unbounded = deliveryHandler(worker, { verify: () => true });
    const padded = (size: number) => '{"runId":7}'.padEnd(size);
    const [most, more] = [padded(65_536), padded(65_537)].map((body) => new Blob([body]).stream());
    expect((await unbounded(post(most ?? null))).status).toBe(400);
    expect((await unbounded(post(more ?? null))).status).toBe(413);
  });

  test('delivers nothing when the body is cut off', async () => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"runId":"cut"}'));
        queueMicrotask(() => controller.error(new Error('reset')));
      },
    });
    expect(await answerTo(post(body))).toEqual([400, 'The body names no run.']);
    expect(await answerTo(post(null))).toEqual([400, 'The body names no run.']);
    expect(reached).toEqual([]);
  });

  test('delivers nothing when the caller leaves before the end of the body', async () => {
    const leaving = new AbortController();
    const { body, cancelled } = open('{"runId":"left"}');
    const answered = answerTo(post(body, leaving.signal));
    setImmediate(() => leaving.abort());
    expect(await answered).toEqual([400, 'The body names no run.']);
    expect(await answerTo(post(open('{"runId":"left"}').body, leaving.signal))).toEqual([
      400,
      'The body names no run.',
    ]);
    expect(cancelled).toHaveLength(1);
    expect(reached).toEqual([]);
  });

  test('delivers a run whose message arrives in pieces', async () => {
    const bytes = new TextEncoder().encode('{"runId":"h11"}');
    const body = new ReadableStream({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    expect(await answerTo(post(body))).toEqual([204, '']);
    expect(reached).toEqual([{ runId: 'h11' }]);
  });
});
