import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { APIResponseError, NotFoundError, SvcError } from '../src/index.ts';
import { type Answer, json, problem, Stage, thrown } from './stage.ts';

const MiB = 1024 * 1024;

/** A small body that decodes to `bytes` bytes of JSON text. */
function bomb(bytes: number, status = 200, type = 'application/json'): Answer {
  const body = gzipSync(Buffer.alloc(bytes, '['));
  return (response) => {
    response.writeHead(status, { 'content-type': type, 'content-encoding': 'gzip' });
    response.end(body);
  };
}

/** A `fetch` whose answer never ends. It counts the bytes that the client takes. */
function endless(type = 'application/json') {
  const taken = { bytes: 0, cancelled: false };
  const chunk = new Uint8Array(MiB).fill(0x20);
  const fetch = async (): Promise<Response> => {
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          taken.bytes += chunk.length;
          controller.enqueue(chunk);
        },
        cancel() {
          taken.cancelled = true;
        },
      },
      { highWaterMark: 0 },
    );
    return new Response(body, { headers: { 'content-type': type } });
  };
  return { fetch, taken };
}

describe('an answer that is too long for the memory of the caller', () => {
  test('a compressed body counts by its decoded bytes', async () => {
    await using stage = await Stage.open(bomb(32 * MiB));
    const client = stage.client({ maxResponseBytes: MiB });
    const error = await thrown(client.health(), APIResponseError);
    expect(error.message).toBe(`health: the answer is longer than ${MiB} bytes.`);
    expect(stage.seen).toHaveLength(1);
  });

  test('128 MiB are the limit of a client without the option', async () => {
    await using stage = await Stage.open(json({}));
    const { fetch, taken } = endless();
    await thrown(stage.client({ fetch }).health(), APIResponseError);
    expect(taken).toEqual({ bytes: 129 * MiB, cancelled: true });
  });

  test('a call has its own limit', async () => {
    await using stage = await Stage.open(json({ status: 'ok' }));
    const client = stage.client({ maxResponseBytes: 10 });
    await thrown(client.health(), APIResponseError);
    expect(await client.health({ maxResponseBytes: 15 })).toEqual({ status: 'ok' });
    expect(await client.withOptions({ maxResponseBytes: 15 }).health()).toEqual({ status: 'ok' });
  });

  test('a refusal keeps its status, without its problem document', async () => {
    await using stage = await Stage.open(
      bomb(32 * MiB, 404, 'application/problem+json'),
      problem(404, 'not_found', { more: 'x'.repeat(2 * MiB) }),
    );
    const error = await thrown(stage.client().health(), NotFoundError);
    expect(error).toMatchObject({ status: 404, problem: null });
    expect(await thrown(stage.client().health(), NotFoundError)).toMatchObject({ problem: null });
  });

  test('a body within the limit may not be nested so deeply that its value fills the memory', async () => {
    const nested = (depth: number, fill: string) => `${'['.repeat(depth)}"${fill}"${']'.repeat(depth)}`;
    const text = (body: string): Answer => {
      return (response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(body);
      };
    };
    const long = `${'x'.repeat(2 * MiB)}${'['.repeat(2000)}\\\\\\"${'{'.repeat(2000)}`;
    await using stage = await Stage.open(
      text('['.repeat(2 * MiB)),
      text(nested(1001, 'x'.repeat(2 * MiB))),
      text(nested(1000, long)),
      text(nested(2000, 'x')),
    );
    await thrown(stage.client().health(), APIResponseError);
    await thrown(stage.client().health(), APIResponseError);
    expect((await stage.client().health()) as unknown).toHaveLength(1);
    // A short text costs little, as before.
    expect((await stage.client().health()) as unknown).toHaveLength(1);
  });

  test('a stream has no limit, and the client reads no further than its caller', async () => {
    await using stage = await Stage.open(json({}));
    const { fetch, taken } = endless('application/octet-stream');
    const client = stage.client({ fetch, maxResponseBytes: MiB });
    const response = await client.health().asResponse();
    const reader = response.body?.getReader();
    for (let read = 0; read < 3; read += 1) await reader?.read();
    expect(taken.bytes).toBe(3 * MiB);
    await reader?.cancel();
    expect(taken.cancelled).toBe(true);
  });

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
    '%s is no limit',
    async (maxResponseBytes) => {
      await using stage = await Stage.open(json({}));
      expect(() => stage.client({ maxResponseBytes })).toThrow(SvcError);
      await thrown(stage.client().health({ maxResponseBytes }), SvcError);
      expect(stage.seen).toEqual([]);
    },
  );
});
