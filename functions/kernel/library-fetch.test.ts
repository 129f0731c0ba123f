import { expect, test } from 'vitest';
import { libraryFetch } from './library-fetch.ts';

const asked: string[] = [];
const answering = (body: string | ReadableStream | null, status = 200) =>
  libraryFetch((input) => {
    asked.push(String(input));
    return Promise.resolve(new Response(body, { status, headers: { 'content-type': 'application/json' } }));
  });
const pieces = (count: number, size: number) =>
  ReadableStream.from(Array.from({ length: count }, () => new Uint8Array(size).fill(0x20)));

test('a library gets the whole answer as it was, for an address and for a request', async () => {
  const answer = await answering(
    '{"error":"invalid_grant"}',
    400,
  )(new Request('https://issuer.example/token'));
  expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'application/json']);
  expect(await answer.json()).toEqual({ error: 'invalid_grant' });
  expect(await (await answering(pieces(1_000, 1_000))('https://issuer.example/keys')).bytes()).toHaveLength(
    1e6,
  );
  expect((await answering(null, 204)('https://issuer.example/none')).status).toBe(204);
  expect(asked).toEqual(['token', 'keys', 'none'].map((path) => `https://issuer.example/${path}`));
});

test.each([
  ['bytes', pieces(2, 600_000)],
  ['pieces', pieces(3_000, 1)],
])('an answer of too many %s is none', async (_, body) => {
  await expect(answering(body)('https://issuer.example/')).rejects.toThrow('too many bytes or pieces');
});
