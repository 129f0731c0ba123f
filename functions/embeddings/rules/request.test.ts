import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../kernel/errors.ts';
import { preparedTexts, readEmbeddingRequest } from './request.ts';

const NONE = { query: null, passage: null, symmetric: null };

function refusal(request: Parameters<typeof readEmbeddingRequest>[0]) {
  try {
    readEmbeddingRequest(request);
    return null;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return [error.code, error.extensions.errors?.[0]?.pointer];
  }
}

describe('a request for embeddings', () => {
  test('has the text before the texts', () => {
    expect(readEmbeddingRequest({ texts: ['b', 'c'], text: 'a', purpose: ' QUERY ' })).toEqual({
      purpose: 'query',
      prefixes: NONE,
      texts: ['a', 'b', 'c'],
    });
  });

  test('is symmetric unless it says otherwise', () => {
    expect(readEmbeddingRequest({ text: 'a', texts: null })).toMatchObject({ purpose: 'symmetric' });
  });

  const texts = (count: number) => Array.from({ length: count }, (_, at) => `t${at}`);
  test.each([
    ['no text', {}, ['validation_failed', '']],
    ['an empty list', { texts: [] }, ['validation_failed', '/texts']],
    ['a blank text', { text: ' \n' }, ['validation_failed', '/text']],
    ['a blank text in the list', { texts: ['a', '\t'] }, ['validation_failed', '/texts/1']],
    ['a lone surrogate', { texts: ['\ud800'] }, ['validation_failed', '/texts/0']],
    ['a text that is too long', { text: 'a'.repeat(100_001) }, ['limit_exceeded', '/text']],
    ['too many texts', { text: 'a', texts: texts(128) }, ['limit_exceeded', '/texts']],
    ['an unknown purpose', { text: 'a', purpose: 'fun' }, ['validation_failed', '/purpose']],
    ['as much as is allowed', { text: 'a'.repeat(100_000), texts: texts(127) }, null],
  ])('with %s', (_, request, expected) => {
    expect(refusal(request)).toEqual(expected);
  });
});

describe('a prepared text', () => {
  const model = { query: 'query: ', passage: 'passage: ', symmetric: null };
  const prepare = (request: Parameters<typeof readEmbeddingRequest>[0]) =>
    preparedTexts(readEmbeddingRequest(request), model);

  test('has the prefix of the model for its purpose', () => {
    expect(prepare({ text: 'cats', purpose: 'query' })).toEqual([
      { textLength: 4, prefixApplied: true, prefixLength: 7, text: 'query: cats' },
    ]);
    expect(prepare({ text: 'cats', purpose: 'document' })[0]?.text).toBe('passage: cats');
    expect(prepare({ text: 'cats' })[0]).toMatchObject({ prefixApplied: false, prefixLength: 0 });
  });

  test('has the prefix of the request before that of the model', () => {
    expect(prepare({ text: 'cats', purpose: 'query', queryPrefix: 'Q ' })[0]?.text).toBe('Q cats');
    expect(prepare({ text: 'cats', purpose: 'query', queryPrefix: '' })[0]?.text).toBe('cats');
  });

  test('that begins with the prefix gets no second one, and reports its length', () => {
    expect(prepare({ text: 'query: cats', purpose: 'query' })).toEqual([
      { textLength: 11, prefixApplied: false, prefixLength: 7, text: 'query: cats' },
    ]);
  });
});
