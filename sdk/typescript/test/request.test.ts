import { expect, test } from 'vitest';
import { SvcError } from '../src/index.ts';
import { json, Stage, thrown } from './stage.ts';

test('a call sends what it was given, whatever becomes of the object afterwards', async () => {
  await using stage = await Stage.open(json({}));
  const client = stage.client();
  const request = { idempotencyKey: 'one', mutations: [] };
  const first = client.commitCanonicalTransaction('t', request);
  request.idempotencyKey = 'two';
  await Promise.all([first, client.commitCanonicalTransaction('t', request)]);
  const keys = stage.seen.map(({ body }) => (JSON.parse(body.toString()) as typeof request).idempotencyKey);
  expect(keys.sort()).toEqual(['one', 'two']);
});

const SECRET = 'S3CRET';

test.each<[string, (client: ReturnType<Stage['client']>) => PromiseLike<unknown>]>([
  ['a header of two lines', (client) => client.health({ headers: { Authorization: `Bearer ${SECRET}\nx` } })],
  ['half a character in a path', (client) => client.exportCanonicalTenant('\ud800')],
  [
    'a number that JSON does not have',
    (client) =>
      client.commitCanonicalTransaction('t', {
        idempotencyKey: 'k',
        outbox: [{ topic: 't', key: 'k', payload: Number.NaN }],
      }),
  ],
])('%s is an error of ours that quotes nothing, and nothing is sent', async (_, call) => {
  await using stage = await Stage.open(json({}));
  const error = await thrown(call(stage.client()), Error);
  expect(error).toBeInstanceOf(SvcError);
  expect(String(error.stack)).not.toContain(SECRET);
  expect(stage.seen).toEqual([]);
});
