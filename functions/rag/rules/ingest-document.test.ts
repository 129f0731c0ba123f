import * as fc from 'fast-check';
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

  test('whose vectors would have another size than those of the collection', () => {
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
  [' doc-1 ', 'doc-1'],
  ['A_b.c-9', 'A_b.c-9'],
  ['x'.repeat(128), 'x'.repeat(128)],
  // The hashes are those of `printf %s <id> | sha256sum`.
  ['..Über Straße..', 'ber-Stra-e-784ec0e880ce895b'],
  ['-_.', 'doc-1ed0d4fdf558992d'],
  ['a/b', 'a-b-c14cddc033f64b9d'],
  ['x'.repeat(129), `${'x'.repeat(111)}-0ec9eb33e74510bc`],
])('the ids of document %j begin with %s', (given, prefix) => {
  expect(idPrefixOf(given)).toBe(prefix);
});

test('no two names have the same prefix of ids, and each prefix is safe in a path', () => {
  const unit = fc.constantFrom('a', 'B', '-', '_', '.', '/', ' ', '合', '同', '😀', 'x'.repeat(64));
  const name = fc.string({ unit, minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(name, name, (one, other) => {
      const [first, second] = [idPrefixOf(one), idPrefixOf(other)];
      expect(first === second).toBe(one.trim() === other.trim());
      expect(first).toMatch(/^[A-Za-z0-9_.-]{1,128}$/);
      if (/^[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?$/.test(one) && one.length <= 128)
        expect(first).toBe(one);
    }),
  );
});

test('a long run of dots is trimmed in one step', () => {
  const dots = '.'.repeat(200_000);
  expect(idPrefixOf(`a${dots}`)).toMatch(/^a-[0-9a-f]{16}$/);
  expect(idPrefixOf(`a${dots}b`).startsWith(`a${dots.slice(0, 110)}-`)).toBe(true);
});

test('a document without sources has the source that its members describe', () => {
  const sources = (request: object) => documentOf({ text: 'a', documentId: 'd', ...request }).sources;
  expect(sources({ sourceKind: 'web' })).toEqual([]);
  expect(sources({ sourceLabel: ' L ' })).toEqual(['{"id":"d","kind":"document","uri":"d","label":"L"}']);
  expect(sources({ sourceUri: 'u', sourceId: 'i', sourceKind: 'web' })).toEqual([
    '{"id":"i","kind":"web","uri":"u","label":null}',
  ]);
  expect(sources({ sourceUri: 'u', sources: [{ id: 's' }] })).toEqual(['{"id":"s"}']);
});
