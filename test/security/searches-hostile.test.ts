import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningService, startService } from '../support/service.ts';
import { RecordSpace } from './record-space.ts';

/** Hostile searches over HTTP: each is refused whole, with its code and place. */

let service: RunningService;
let space: RecordSpace;
beforeAll(async () => {
  service = await startService();
  space = new RecordSpace(service.call);
  const vectorPolicies = ['v', 'w'].map((name) => ({ name, path: `/vectors/${name}/values`, dimensions: 3 }));
  await space.create({ name: 'docs', vectorPolicies });
});
afterAll(() => service.close());

const send = (body: object | string) => space.send('POST', '/collections/docs/search', body);
const words = (query: unknown, more: object = {}) => ({ lexical: { query, ...more } });
const near = (value: unknown, more: object = {}) => ({ vector: { field: 'v', value, ...more } });
const token = (text: string) => ({ continuationToken: Buffer.from(text).toString('base64') });
const phrases = (...groups: readonly (readonly string[])[]) =>
  words('word', { requiredPhraseGroups: groups });

describe('a hostile search is refused, and says where', () => {
  test.each<[string, object | string, string, string | null]>([
    ['both modes', { ...words('word'), ...near([1, 1, 1]) }, 'validation_failed', '/lexical'],
    ['no words', words(''), 'validation_failed', '/lexical/query'],
    ['white space for words', words(' \t\u00a0\u3000'), 'validation_failed', '/lexical/query'],
    ['no query', { lexical: {} }, 'validation_failed', '/lexical/query'],
    ['a query that is a number', words(5), 'validation_failed', '/lexical/query'],
    [
      '10,000 words',
      words(Array.from({ length: 10_000 }, (_, at) => `w${at}`).join(' ')),
      'limit_exceeded',
      '/lexical/query',
    ],
    [
      '129 words',
      words(Array.from({ length: 129 }, (_, at) => `w${at}`).join(' ')),
      'limit_exceeded',
      '/lexical/query',
    ],
    ['one word of 20,000 characters', words('w'.repeat(20_000)), 'limit_exceeded', '/lexical/query'],
    ['a top of 0', words('word', { top: 0 }), 'validation_failed', '/lexical/top'],
    ['half a top', near([1, 1, 1], { top: 1.5 }), 'validation_failed', '/vector/top'],
    ['a top beyond integers', near([1, 1, 1], { top: 1e300 }), 'validation_failed', '/vector/top'],
    ['a scan limit of -1', words('word', { scanLimit: -1 }), 'validation_failed', '/lexical/scanLimit'],
    ['a scoring of its own', words('word', { scoring: 'tfidf' }), 'validation_failed', '/lexical/scoring'],
    [
      'a match mode of its own',
      words('word', { matchMode: 'ALL' }),
      'validation_failed',
      '/lexical/matchMode',
    ],
    ['k1 of 0', words('word', { bm25K1: 0 }), 'validation_failed', '/lexical/bm25K1'],
    ['k1 beyond float32', words('word', { bm25K1: 1e39 }), 'validation_failed', '/lexical/bm25K1'],
    ['b above 1', words('word', { bm25B: 1.01 }), 'limit_exceeded', '/lexical/bm25B'],
    [
      'a boost beyond float32',
      words('word', { exactBoost: 1e39 }),
      'validation_failed',
      '/lexical/exactBoost',
    ],
    [
      'a field boost beyond float32',
      words('word', { fieldBoosts: { '/content': -1e39 } }),
      'validation_failed',
      '/lexical/fieldBoosts/~1content',
    ],
    ['a prefix of 0', words('word', { prefixMinChars: 0 }), 'validation_failed', '/lexical/prefixMinChars'],
    [
      'a field that is no pointer',
      words('word', { fields: ['content'] }),
      'validation_failed',
      '/lexical/fields/0',
    ],
    [
      '101 fields',
      words('word', { fields: Array.from({ length: 101 }, (_, at) => `/f${at}`) }),
      'limit_exceeded',
      '/lexical/fields',
    ],
    [
      '17 groups',
      phrases(...Array.from({ length: 17 }, () => ['word'])),
      'limit_exceeded',
      '/lexical/requiredPhraseGroups',
    ],
    ['an empty group', phrases(['word'], []), 'validation_failed', '/lexical/requiredPhraseGroups/1'],
    [
      '17 phrases',
      phrases(Array.from({ length: 17 }, (_, at) => `w${at}`)),
      'limit_exceeded',
      '/lexical/requiredPhraseGroups/0',
    ],
    [
      'a phrase without words',
      phrases(['word', '?!']),
      'validation_failed',
      '/lexical/requiredPhraseGroups/0/1',
    ],
    [
      'a phrase of 257 characters',
      phrases(['w'.repeat(257)]),
      'limit_exceeded',
      '/lexical/requiredPhraseGroups/0/0',
    ],
    ['a member that no search has', words('word', { fuzzy: true }), 'validation_failed', '/lexical/fuzzy'],
    ['no vector', { vector: { field: 'v' } }, 'validation_failed', '/vector/value'],
    ['an empty vector', near([]), 'validation_failed', '/vector/value'],
    ['two dimensions for three', near([1, 1]), 'validation_failed', '/vector/value'],
    ['four dimensions for three', near([1, 1, 1, 1]), 'validation_failed', '/vector/value'],
    ['a text among the numbers', near([1, '1', 1]), 'validation_failed', '/vector/value/1'],
    ['a number beyond float32', near([1, 1, 1e39]), 'validation_failed', '/vector/value/2'],
    [
      'a least score beyond float32',
      near([1, 1, 1], { minScore: 1e39 }),
      'validation_failed',
      '/vector/minScore',
    ],
    ['65,537 numbers', near(Array.from({ length: 65_537 }, () => 1)), 'limit_exceeded', '/vector/value'],
    [
      'a field that the policy lacks',
      { vector: { field: 'x', value: [1, 1, 1] } },
      'validation_failed',
      '/vector/field',
    ],
    [
      'the field of a prototype',
      { vector: { field: 'constructor', value: [1, 1, 1] } },
      'validation_failed',
      '/vector/field',
    ],
    ['an order', { ...words('word'), orderBy: [{ path: '/id' }] }, 'validation_failed', '/orderBy'],
    ['a limit of 0', { ...words('word'), limit: 0 }, 'validation_failed', '/limit'],
    [
      'the token -1',
      { ...words('word'), ...token('-1') },
      'continuation_token_invalid',
      '/continuationToken',
    ],
    [
      'the token 1.5',
      { ...near([1, 1, 1]), ...token('1.5') },
      'continuation_token_invalid',
      '/continuationToken',
    ],
    [
      'a token that is none',
      { ...words('word'), continuationToken: '%%%' },
      'continuation_token_invalid',
      '/continuationToken',
    ],
    ['NaN', '{"vector":{"field":"v","value":[1,1,NaN]}}', 'malformed_request', null],
    ['Infinity', '{"vector":{"field":"v","value":[1,1,Infinity]}}', 'malformed_request', null],
    [
      'a number beyond doubles',
      '{"vector":{"field":"v","value":[1,1,1e400]}}',
      'malformed_request',
      '/vector/value/2',
    ],
    [
      'a least score beyond doubles',
      '{"lexical":{"query":"word","minScore":-1e400}}',
      'malformed_request',
      '/lexical/minScore',
    ],
    ['a lone surrogate', '{"lexical":{"query":"\\ud800"}}', 'malformed_request', null],
    ['a member twice', '{"lexical":{"query":"a","query":"word"}}', 'malformed_request', null],
  ])('%s', async (_, body, code, pointer) => {
    const { status, text } = await send(body);
    const problem = JSON.parse(text) as { errors?: readonly { pointer: string }[] };
    expect([status, problem]).toMatchObject([400, { code, retryable: false }]);
    expect(problem).not.toHaveProperty('items');
    expect(problem.errors?.[0]?.pointer ?? null).toBe(pointer);
  });

  test('a collection that is not there, before all that its policy would say', async () => {
    for (const body of [words('word'), near([1, 1, 1]), {}]) {
      const absent = await space.send('POST', '/collections/absent/search', body);
      expect(absent).toMatchObject({ status: 404, code: 'collection_not_found' });
    }
  });
});
