import { describe, expect, test } from 'vitest';
import { finish } from '../../../test/support/finish.ts';
import { refusalOf } from '../../../test/support/refusal.ts';
import { readPolicy } from '../../collections/rules/policy.ts';
import { cutDocument } from './cut-document.ts';
import { idPrefixOf } from './ids.ts';
import { documentOf, MODEL } from './ingest.fixture.ts';
import { readDocument } from './ingest-document.ts';

describe('a document is refused', () => {
  test.each<[why: string, request: object, pointer: string]>([
    ['without text', { text: ' \u0085\n' }, '/text'],
    ['with half a code point', { text: 'a\ud800' }, '/text'],
    ['longer than two million characters', { text: 'a'.repeat(2_000_001) }, '/text'],
    ['that would take the place of manifests', { text: 'a', type: 'rag.manifest' }, '/type'],
    ['whose content field is a path', { text: 'a', contentField: 'a.b' }, '/contentField'],
    ['whose content field no body may have', { text: 'a', contentField: '__proto__' }, '/contentField'],
    [
      'whose overlap is a chunk',
      { text: 'a', options: { chunkChars: 5, chunkOverlapChars: 5 } },
      '/options/chunkOverlapChars',
    ],
    ['of chunks of nothing', { text: 'a', options: { chunkChars: 0 } }, '/options/chunkChars'],
    [
      'that makes too many chunks',
      { text: 'a'.repeat(4_001), options: { chunkChars: 4, chunkOverlapChars: 2 } },
      '/options/chunkChars',
    ],
    ['whose vector the collection lacks', { text: 'a', embedding: { field: 'w' } }, '/embedding/field'],
  ])('%s', (_, request, pointer) => {
    expect(refusalOf(() => documentOf(request))).toMatchObject({ errors: [{ pointer }] });
  });

  test('whose vectors would have another size than the collection wants', () => {
    const read = () => documentOf({ text: 'a' }, { dimensions: 4 });
    expect(refusalOf(read)).toMatchObject({ errors: [{ pointer: '/embedding/field' }] });
  });

  test('for a collection without vectors', () => {
    const policy = readPolicy({ name: 'plain' });
    const read = () => readDocument('{"partitionKey":"p","text":"a"}', policy, MODEL);
    expect(refusalOf(read)).toMatchObject({ errors: [{ pointer: '/embedding/field' }] });
  });

  test('whose text has more breaks than its estimate', () => {
    // The estimate is 1,336 chunks; each ends at its half, and the overlap leaves it one character.
    const text = 'a b '.repeat(1_002);
    const document = documentOf({ text, options: { chunkChars: 6, chunkOverlapChars: 3 } });
    expect(refusalOf(() => finish(cutDocument(document)))).toMatchObject({ code: 'limit_exceeded' });
  });
});

test.each([
  ['doc-1', 'doc-1'],
  ['..Über Straße..', 'ber-Stra-e'],
  ['-_.', 'doc'],
  ['a/b\\c?', 'a-b-c'],
  [`.${'x'.repeat(127)}.y`, `${'x'.repeat(127)}.`],
])('the ids of document %j begin with %s', (given, prefix) => {
  expect(idPrefixOf(given)).toBe(prefix);
});

test('a long run of dots is trimmed at once', () => {
  const dots = '.'.repeat(200_000);
  expect(idPrefixOf(`a${dots}`)).toBe('a');
  expect(idPrefixOf(`a${dots}b`)).toBe(`a${dots.slice(0, 127)}`);
});

test('a document without sources has the one that its single members describe', () => {
  const sources = (request: object) => documentOf({ text: 'a', documentId: 'd', ...request }).sources;
  expect(sources({ sourceKind: 'web' })).toEqual([]);
  expect(sources({ sourceLabel: ' L ' })).toEqual(['{"id":"d","kind":"document","uri":"d","label":"L"}']);
  expect(sources({ sourceUri: 'u', sourceId: 'i', sourceKind: 'web' })).toEqual([
    '{"id":"i","kind":"web","uri":"u","label":null}',
  ]);
  expect(sources({ sourceUri: 'u', sources: [{ id: 's' }] })).toEqual(['{"id":"s"}']);
});
