import { expect, test } from 'vitest';
import { SvcError } from '../src/index.ts';
import { json, Stage, thrown } from './stage.ts';

test('a call sends the request as given although the caller changes the object later', async () => {
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

const outbox = (payload: unknown) => ({ idempotencyKey: 'k', outbox: [{ topic: 't', key: 'k', payload }] });
const circle: Record<string, unknown> = {};
circle['inner'] = [circle];

test.each<[string, unknown, string]>([
  ['NaN', outbox({ 'a/b': [1, Number.NaN] }), '/outbox/0/payload/a~1b/1: must be a finite number'],
  ['an endless number', outbox(-Infinity), '/outbox/0/payload: must be a finite number'],
  ['a bigint', outbox({ '~': 2n }), '/outbox/0/payload/~0: must be a number or a text, not a bigint'],
  ['a circle', outbox(circle), '/outbox/0/payload/inner/0: cannot be written as JSON'],
  ['nothing', undefined, 'the whole: is missing'],
  [
    'an object that does not want to be JSON',
    outbox({
      date: {
        toJSON: () => {
          throw new Error(SECRET);
        },
      },
    }),
    'cannot be written as JSON',
  ],
])('%s in a request is refused with its place', async (_, request, words) => {
  await using stage = await Stage.open(json({}));
  const error = await thrown(stage.client().commitCanonicalTransaction('t', request as never), SvcError);
  expect(error.message).toContain('The request of commitCanonicalTransaction is not valid: ');
  expect(error.message).toContain(words);
  expect(error.message).not.toContain(SECRET);
  expect([error.operation, stage.seen]).toEqual(['commitCanonicalTransaction', []]);
});

test.each<[string, (client: ReturnType<Stage['client']>) => PromiseLike<unknown>]>([
  [
    '/handlerID: is not known here: did you mean handlerId?',
    (c) => c.listExecutionRuns({ handlerID: 't' } as never),
  ],
  ['/zzzzzzzz: is not known here', (c) => c.listExecutionRuns({ zzzzzzzz: 1 } as never)],
  [
    '/ifNonMatch: is not known here: did you mean ifNoneMatch?',
    (c) => c.getObject('o', 'k', { ifNonMatch: 'a' } as never),
  ],
  ['tenantId: is empty or a dot segment', (c) => c.exportCanonicalTenant('..')],
  ['tenantId: holds half a character', (c) => c.exportCanonicalTenant('a\ud800')],
  ['handlerId: holds half a character', (c) => c.listExecutionRuns({ handlerId: '\udc00' })],
  ['X-A: cannot be sent as a header', (c) => c.health({ headers: { 'X-A': `${SECRET}\nx` } })],
  ['X-Correlation-ID: cannot be sent as a header', (c) => c.health({ correlationId: `${SECRET}\nx` })],
])('%s', async (words, call) => {
  await using stage = await Stage.open(json({}));
  const error = await thrown(call(stage.client()), SvcError);
  expect(error.message).toMatch(/^The request of \w+ is not valid: /);
  expect(error.message.endsWith(words)).toBe(true);
  expect(error.message).not.toContain(SECRET);
  expect(stage.seen).toEqual([]);
});

test('a member that is undefined is absent, under any name', async () => {
  await using stage = await Stage.open(json({ items: [] }));
  await stage.client().listExecutionRuns({ handlerID: undefined, handlerId: 't' } as never);
  expect(stage.seen.map(({ target }) => target)).toEqual([expect.stringContaining('?handlerId=t')]);
});
