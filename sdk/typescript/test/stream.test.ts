import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { APIAbortError, APIConnectionError, APITimeoutError } from '../src/index.ts';
import { ManualTime, Stage, thrown } from './stage.ts';

/** A service that sends the start of an answer, and the rest on the test's command. */
async function opened() {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  const stage = await Stage.open((response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'x-other': 'y' });
    response.write('first');
    resolve(response);
  });
  return { stage, answer: promise };
}

const bodyOf = (response: Response) => response.body?.getReader() ?? expect.fail('there is no body');
const text = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);

describe('an answer that is read as it comes', () => {
  test('holds the bytes of the service unchanged', async () => {
    const { stage, answer } = await opened();
    await using _ = stage;
    const world = new ManualTime();
    const response = await stage.client({ world }).health().asResponse();
    expect(response.url).toBe(`${stage.address}/health`);
    expect([response.status, response.ok, response.headers.get('x-other')]).toEqual([200, true, 'y']);
    (await answer).end('last');
    expect(await response.text()).toBe('firstlast');
    expect(world.pending).toEqual([]);
  });

  test('may take longer than the call as long as bytes come', async () => {
    const { stage, answer } = await opened();
    await using _ = stage;
    const world = new ManualTime();
    const reader = bodyOf(await stage.client({ world, timeout: 1000 }).health().asResponse());
    expect(text((await reader.read()).value)).toBe('first');
    for (const word of ['a', 'b', 'c']) {
      const next = reader.read();
      await world.awaited(1000);
      world.go(999);
      (await answer).write(word);
      expect(text((await next).value)).toBe(word);
      expect(world.pending).toEqual([]);
    }
  });

  test('is ended if no bytes arrive for the timeout of the call', async () => {
    const { stage, answer } = await opened();
    await using _ = stage;
    const world = new ManualTime();
    const reader = bodyOf(await stage.client({ world }).health({ timeout: 700 }).asResponse());
    await reader.read();
    const closed = new Promise((resolve) => void answer.then((response) => response.on('close', resolve)));
    const next = thrown(reader.read(), APITimeoutError);
    await world.pass(700);
    expect((await next).operation).toBe('getHealth');
    expect(world.pending).toEqual([]);
    await closed;
  });

  test('is not ended while the caller reads nothing', async () => {
    const { stage, answer } = await opened();
    await using _ = stage;
    const world = new ManualTime();
    const reader = bodyOf(await stage.client({ world, timeout: 1000 }).health().asResponse());
    await reader.read();
    expect(world.pending).toEqual([]);
    (await answer).end('last');
    expect(text((await reader.read()).value)).toBe('last');
    expect((await reader.read()).done).toBe(true);
  });

  test('fails with the error that ended it', async () => {
    const { stage } = await opened();
    await using _ = stage;
    const controller = new AbortController();
    const client = stage.client();
    const aborted = bodyOf(await client.health({ signal: controller.signal }).asResponse());
    const broken = bodyOf(await client.health().asResponse());
    await Promise.all([aborted.read(), broken.read()]);
    const reason = new Error('enough');
    controller.abort(reason);
    expect((await thrown(aborted.read(), APIAbortError)).cause).toBe(reason);
    stage.cut();
    const error = await thrown(broken.read(), APIConnectionError);
    expect(error).not.toBeInstanceOf(APITimeoutError);
  });

  test('closes its connection when the caller cancels it', async () => {
    const { stage, answer } = await opened();
    await using _ = stage;
    const reader = bodyOf(await stage.client().health().asResponse());
    const closed = new Promise((resolve) => void answer.then((response) => response.on('close', resolve)));
    await reader.read();
    await reader.cancel();
    await closed;
  });
});
