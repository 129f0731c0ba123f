import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

/** The documentation uses the terms of the glossary, and no synonyms of them. */

const GLOSSARY = 'docs/glossary.md';
const pages = ['README.md', 'ARCHITECTURE.md', ...globSync('docs/**/*.md')].filter(
  (page) => page !== GLOSSARY,
);
const texts = new Map(pages.map((page) => [page, proseOf(readFileSync(page, 'utf8'))]));

interface Term {
  readonly term: string;
  readonly banned: readonly string[];
}

function termsOf(page: string): Term[] {
  return [...page.matchAll(/^\| \*\*([^*]+)\*\* \| .+ \| (.+) \|$/gm)].map(([, term = '', banned = '']) => ({
    term,
    banned: banned.split(', '),
  }));
}

/** The text of a page without code, because code holds names of other products and wire names. */
function proseOf(page: string): string {
  return page
    .replace(/```.*?```/gs, '')
    .replace(/`[^`\n]*`/g, '')
    .replace(/\s+/g, ' ');
}

function occurs(word: string, text: string): boolean {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`(?<![\\w-])${escaped}(?:e?s|ed|ing)?(?![\\w-])`, 'i').test(text);
}

const terms = termsOf(readFileSync(GLOSSARY, 'utf8'));

test('the glossary has its terms, each once', () => {
  expect(terms.length).toBeGreaterThan(50);
  const names = terms.map(({ term }) => term);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

test('no synonym of a term is a term', () => {
  const names = new Set(terms.map(({ term }) => term));
  expect(terms.flatMap(({ banned }) => banned.filter((word) => names.has(word)))).toEqual([]);
});

test.each(terms)('$term is used in the documentation', ({ term }) => {
  expect([...texts.values()].some((text) => occurs(term, text))).toBe(true);
});

test.each(pages)('%s uses no synonym of a term', (page) => {
  const text = texts.get(page) ?? '';
  const found = terms.flatMap(({ term, banned }) =>
    banned.filter((word) => occurs(word, text)).map((word) => `${word}: say ${term}`),
  );
  expect(found).toEqual([]);
});

describe('the check itself', () => {
  test('finds a synonym in prose, in the plural and in capitals, and none in code', () => {
    expect(occurs('fencing token', 'Two Fencing  tokens'.replace(/\s+/g, ' '))).toBe(true);
    expect(occurs('dump', proseOf('call `dump` or\n```sh\ndump\n```'))).toBe(false);
    expect(occurs('nack', 'a snack')).toBe(false);
  });
});
