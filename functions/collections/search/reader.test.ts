import { expect, test } from 'vitest';
import { finished, inTurns } from '../../kernel/turns.ts';
import { leavesOf } from './leaves.ts';
import { type LexicalRequest, readLexicalQuery } from './lexical-query.ts';
import { lexiconOf, normalLeaves } from './lexicon.ts';
import { LexiconReader } from './reader.ts';

const count = 100_000;
const words = Array.from({ length: count }, (_, n) => `W${n}`);
const records: readonly (readonly [string, string])[] = [
  ['one leaf', JSON.stringify({ id: 'i', content: words.join(', ') })],
  ['many leaves', JSON.stringify({ id: 'i', content: words.map((word, n) => `${word} w${n + 1}`) })],
];

function readerOf(request: LexicalRequest): LexiconReader {
  return new LexiconReader(readLexicalQuery(request, 5_000));
}

/** Reads in turns that are always due, and counts them. */
async function readInTurns(text: string, request: LexicalRequest) {
  let turns = 0;
  const next = async () => {
    turns += 1;
  };
  const steps = readerOf(request).readText('k', text);
  return { reading: await inTurns(steps, { due: () => true, next }), turns };
}

test.each(records)('a long record of %s is read in turns, as its lexicon is', async (_name, text) => {
  const lexicon = lexiconOf('k', finished(normalLeaves(leavesOf(text))));
  const pairs = Array.from({ length: 16 }, (_, n) => `w${6_000 * n + 1} w${6_000 * n + 2}`);
  const groups = Array.from({ length: 4 }, (_, n) => pairs.slice(n * 4, n * 4 + 4));
  for (const request of [
    { query: 'w1 w2 w3 w4 w5 w6 w7 w8 w9', prefixMatching: true, prefixMinChars: 2 },
    { query: pairs.map((pair) => `"${pair}"`).join(' '), matchMode: 'all' },
    { query: 'w3', requiredPhraseGroups: groups },
  ]) {
    const { reading, turns } = await readInTurns(text, request);
    expect(reading).toEqual(readerOf(request).read(lexicon));
    expect(reading?.length).toBeGreaterThan(count);
    expect(reading?.requiredPhrases).toEqual('requiredPhraseGroups' in request ? groups : []);
    // A step is about 65,536 characters of the lexicon; those without a word of the query cost little.
    const least = 'prefixMatching' in request ? Math.floor(lexicon.length / 65_536) : 3;
    expect(turns).toBeGreaterThan(least);
    expect(turns).toBeLessThan(8 * Math.ceil(lexicon.length / 65_536));
  }
});

test('a phrase is found wherever a step ends within it', async () => {
  for (let spaces = 0; spaces < 24; spaces += 1) {
    const before = 'x '.repeat(32_750);
    const content = `${before}${'y'.repeat(spaces)} one two three ${before}`;
    const text = JSON.stringify({ content });
    const { reading } = await readInTurns(text, { query: '"one two three" four' });
    expect(reading).toMatchObject({ phrases: ['one two three'], isMatched: [1, 1, 1, 0] });
  }
});

test('a short record takes no turn but the one behind its leaves', async () => {
  const { reading, turns } = await readInTurns('{"content":"one"}', { query: 'one' });
  expect(reading).toMatchObject({ length: 1, isExact: true });
  expect(turns).toBe(1);
});

test('a record whose paths together are longer than a string may be is read', async () => {
  const text = JSON.stringify({ content: 'ab', metadata: { ['k'.repeat(10_000)]: Array(60_000).fill(11) } });
  const { reading } = await readInTurns(text, { query: 'ab 11', fieldBoosts: { '/metadata': 2 } });
  expect(reading).toMatchObject({ length: 60_001, weights: [1, 120_000], fieldBoost: 2, isInMetadata: true });
  // Such a path is too long to be named.
  expect(reading?.paths).toEqual(['/content']);
});

test('the longest pointer of a request decides, however long the path is', async () => {
  const name = 'k'.repeat(3_000);
  const text = JSON.stringify({ [name]: { a: 'one', b: 'one' }, [`${name}k`]: 'one' });
  const request = { query: 'one', fields: [`/${name}`], fieldBoosts: { [`/${name}/b`]: 5 } };
  const { reading } = await readInTurns(text, request);
  expect(reading).toMatchObject({ length: 2, weights: [6], fieldBoost: 5, paths: [] });
  expect(reading).toEqual(
    readerOf(request).read(
      lexiconOf(
        'k',
        [...leavesOf(text)].filter((leaf) => leaf !== null),
      ),
    ),
  );
});

test('the first hundred paths that matched are named', async () => {
  const name = `${'n'.repeat(1_021)}/`;
  const text = JSON.stringify({ [`${name}x`]: 'one', [name]: 'one', m: Array(200).fill('one') });
  const request = { query: 'one', fields: ['/m', `/${'n'.repeat(1_021)}~1`, `/${'n'.repeat(1_021)}~1x`] };
  const { reading } = await readInTurns(text, request);
  const first = Array.from({ length: 99 }, (_, n) => `/m/${n}`);
  expect(reading?.paths).toEqual([`/${'n'.repeat(1_021)}~1`, ...first]);
  expect(reading).toMatchObject({ length: 202, weights: [202] });
  expect(reading).toEqual(
    readerOf(request).read(
      lexiconOf(
        'k',
        [...leavesOf(text)].filter((leaf) => leaf !== null),
      ),
    ),
  );
});

test('a hundred long phrases are looked for in one pass, in steps', async () => {
  const phrases = Array.from({ length: 100 }, (_, n) => {
    const bits = n.toString(2).replaceAll('1', '-ab ').replaceAll('0', '_ab ');
    return `${'ab '.repeat(30)}${bits.trim()}`;
  });
  const text = JSON.stringify({ content: `${'ab '.repeat(130_000)}${phrases[77]}` });
  const request = { query: phrases.map((phrase) => `"${phrase}"`).join(' ') };
  const { reading, turns } = await readInTurns(text, request);
  // Another one is its beginning.
  expect([...(reading?.phrases ?? [])].sort()).toEqual(
    phrases.filter((phrase) => text.includes(phrase)).sort(),
  );
  expect(turns).toBeGreaterThanOrEqual(10);
});
