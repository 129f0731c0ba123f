import { expect, test } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { abandonStreams, byteBody, streamsOf } from './byte-stream.ts';
import { BrokenBodyError } from './message.ts';
import { pacedChunks } from './paced-chunks.ts';

const policy = { timeoutMs: 1_000, bytesPerSecondMin: 100 };

async function* chunksOf(...texts: readonly string[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const text of texts) yield Buffer.from(text);
}

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  let text = '';
  for await (const chunk of chunks) text += Buffer.from(chunk).toString();
  return text;
}

test('the digest is that of the bytes that the handler read', async () => {
  const body = byteBody(chunksOf('ab', '', 'c'), { mediaType: 'text/plain' });
  expect(await textOf(body)).toBe('abc');
  expect(await body.digest).toEqual({
    size: 3,
    hash: 'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  });
  expect(() => body[Symbol.asyncIterator]()).toThrow('read once');
});

test('a stream that is left early, or breaks, has no digest', async () => {
  const left = byteBody(chunksOf('ab', 'c'), { mediaType: 'text/plain' });
  for await (const _ of left) break;
  await expect(left.digest).rejects.toThrow('not read to its end');
  const broken = byteBody(pacedChunks(failing(), 10, new ManualWorld(), policy), { mediaType: 'text/plain' });
  await expect(textOf(broken)).rejects.toBeInstanceOf(BrokenBodyError);
  await expect(broken.digest).rejects.toBeInstanceOf(BrokenBodyError);
});

test('a stream that its handler never reads has no digest', async () => {
  const body = byteBody(chunksOf('ab'), { mediaType: 'text/plain' });
  abandonStreams(streamsOf(body));
  await expect(body.digest).rejects.toThrow('not read');
  const read = byteBody(chunksOf('ab'), { mediaType: 'text/plain' });
  await textOf(read);
  abandonStreams(streamsOf(read));
  expect((await read.digest).size).toBe(2);
});

test('a byte over the limit ends the stream with a refusal', async () => {
  const world = new ManualWorld();
  expect(await textOf(pacedChunks(chunksOf('abc', 'de'), 5, world, policy))).toBe('abcde');
  await expect(textOf(pacedChunks(chunksOf('abc', 'def'), 5, world, policy))).rejects.toMatchObject({
    code: 'payload_too_large',
  });
});

test('waiting for the client counts, and a slow handler costs the client nothing', async () => {
  const world = new ManualWorld();
  const second = Promise.withResolvers<void>();
  const third = Promise.withResolvers<void>();
  const slow = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    // Enough that the handler gets it at once.
    yield Buffer.alloc(16 * 1024);
    await second.promise;
    yield Buffer.from('b');
    third.resolve();
    await new Promise(() => {});
  };
  const chunks = pacedChunks(slow(), 100_000, world, policy);
  expect((await chunks.next()).done).toBe(false);
  world.advance(60_000);
  const refused = expect(chunks.next()).rejects.toMatchObject({ code: 'request_timeout' });
  world.advance(900);
  second.resolve();
  await third.promise;
  // 1,000 ms at first, 900 of them spent, 10 earned by each byte but never more than 1,000 in all.
  world.advance(109);
  expect(world.pendingTimers).toBe(1);
  world.advance(1);
  await refused;
});

async function* failing(): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from('a');
  throw new Error('reset');
}
