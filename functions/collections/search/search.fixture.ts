import * as fc from 'fast-check';
import type { LexicalRequest } from './lexical-query.ts';
import type { NaiveRecord } from './naive-search.fixture.ts';

const long = 'x'.repeat(40);

/** Few words, so that they often match: prefixes of each other, stop words, letters of two UTF-16 units, words with the same cut form. */
const words = fc.constantFrom(
  'a',
  'ab',
  'Ab',
  'abc',
  'abcd',
  'abcde',
  'abcdef',
  'abcdefg',
  'the',
  'of',
  'b',
  'bc',
  'bcd',
  '1',
  '22',
  'é',
  'e\u0301a',
  'שלום',
  '𐐀𐐁',
  '𐐀𐐁𐐂',
  '𐐀',
  '😀',
  'İ',
  'ΑΣ',
  'ας',
  'Ασ',
  'i',
  `${long}y`,
  `${long}z`,
  'True',
  'rev',
);
const gaps = fc.constantFrom(' ', ' ', ' ', '  ', '-', '\n', '. ', '"', ' "', '" ', '\\', '\t');

function texts(maxLength: number): fc.Arbitrary<string> {
  return fc
    .array(fc.tuple(words, gaps), { maxLength })
    .map((parts) => parts.map(([word, gap], index) => (index === 0 ? word : gap + word)).join(''));
}

const text = texts(6);
const scalars = fc.oneof(
  { weight: 5, arbitrary: text.map((each) => JSON.stringify(each)) },
  { weight: 1, arbitrary: fc.constantFrom('1', '1.50', '22', '1e2', 'true', 'false', 'null', '{}', '[]') },
);

function objects(members: Readonly<Record<string, fc.Arbitrary<string>>>): fc.Arbitrary<string> {
  return fc.record(members, { requiredKeys: [], noNullPrototype: true }).map(
    (given) =>
      `{${Object.entries(given)
        .map(([name, value]) => `${JSON.stringify(name)}:${value}`)
        .join(',')}}`,
  );
}

const lists = fc.array(scalars, { maxLength: 2 }).map((items) => `[${items.join(',')}]`);
const metadata = objects({
  title: scalars,
  tags: lists,
  'k/e~y': scalars,
  'new\nline\\': scalars,
  deep: objects({ vectors: scalars, x: scalars }),
});

const bodies = objects({
  content: text.map((each) => JSON.stringify(each)),
  type: fc.constantFrom('"note"', '"ab"'),
  metadata,
  sources: fc
    .array(objects({ id: text.map((each) => JSON.stringify(each)) }), { maxLength: 1 })
    .map((all) => `[${all.join(',')}]`),
  extra: scalars,
  etag: fc.constant('"rev ab"'),
});

/** A collection of few records; ids of the store have another order than the records. */
export const collections: fc.Arbitrary<readonly NaiveRecord[]> = fc
  .uniqueArray(
    fc.record({
      partitionKey: fc.constantFrom('p', 'q', 'p\n', '\uE000', '😀'),
      recordId: fc.constantFrom('ab', 'abc-1', 'the', 'ids 22', '\uE000', '😀'),
      body: bodies,
      id: fc.stringMatching(/^[a-f0-9]{6}$/),
    }),
    { minLength: 1, maxLength: 7, selector: ({ partitionKey, recordId }) => `${partitionKey}/${recordId}` },
  )
  .filter((records) => new Set(records.map(({ id }) => id)).size === records.length)
  .map((records) =>
    records.map(({ body, ...record }) => {
      const { partitionKey, recordId } = record;
      const key = `"id":${JSON.stringify(recordId)},"partitionKey":${JSON.stringify(partitionKey)}`;
      return { ...record, text: `{${key}${body === '{}' ? '' : ','}${body.slice(1)}` };
    }),
  );

const pointers = fc.constantFrom(
  '/content',
  '/metadata',
  '/metadata/title',
  '/metadata/tags/0',
  '/metadata/k~1e~0y',
  '/id',
  '/extra',
  '/type',
  ' /metadata/deep ',
  '/missing',
  '/meta',
  '/partitionKey',
);
const boosts = fc.constantFrom(-1, 0, 0.1, 0.3, 1, 2.5, 7);
const phrases = texts(3).filter((each) => /[\p{L}\p{Nd}]/u.test(each));

/** Requests that are valid. */
export const requests: fc.Arbitrary<LexicalRequest> = fc.record(
  {
    query: fc
      .tuple(texts(5), fc.constantFrom('', '"'), fc.constantFrom('', '"', ' "!"'))
      .map(([inner, before, after]) => before + inner + after)
      .filter((query) => query.trim() !== ''),
    fields: fc.array(pointers, { maxLength: 3 }),
    top: fc.integer({ min: 1, max: 5 }),
    scanLimit: fc.integer({ min: 1, max: 5 }),
    minScore: fc.constantFrom(-1, 0, 0.1, 0.15, 0.35, 0.7, 0.8, 1),
    scoring: fc.constantFrom('bm25', 'coverage'),
    matchMode: fc.constantFrom('any', 'all'),
    fieldBoosts: fc.dictionary(
      pointers.map((pointer) => pointer.trim()),
      boosts,
      { maxKeys: 3, noNullPrototype: true },
    ),
    bm25K1: fc.constantFrom(0.1, 1.2, 2, 100),
    bm25B: fc.constantFrom(0, 0.3, 0.75, 1),
    phraseBoost: boosts,
    exactBoost: boosts,
    metadataBoost: boosts,
    prefixMatching: fc.boolean(),
    prefixMinChars: fc.integer({ min: 1, max: 5 }),
    requiredPhraseGroups: fc.array(fc.array(phrases, { minLength: 1, maxLength: 2 }), { maxLength: 2 }),
  },
  { requiredKeys: ['query'], noNullPrototype: true },
) as fc.Arbitrary<LexicalRequest>;

/** The outcome of work that comes in steps. */
export function whole<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
