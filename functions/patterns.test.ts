import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { patternStatus } from '../contracts/generate/linear-pattern.ts';
import { patternsOf } from '../test/structure.ts';

const literals = globSync('functions/**/*.ts')
  .filter((path) => !path.endsWith('.test.ts'))
  .flatMap((path) => patternsOf(readFileSync(path, 'utf8')).map((pattern) => ({ path, ...pattern })));
/** Each pattern once. */
const distinct = [...new Map(literals.map((each) => [`/${each.source}/${each.flags}`, each])).values()];

/** Patterns that are not linear, each with the reason why its text cannot be long. */
const bounded: Readonly<Record<string, string>> = {
  '\\uFFFD+$': 'its text was cut to the bytes of one index entry',
};

/**
 * The checker takes seconds for a repetition count of thousands. A pattern without its counts has all paths of the original, and more;
 * if it is anchored at both ends, some text makes a matcher walk them all. So a pattern that is linear without counts is linear.
 */
function verdictOf(source: string, flags: string): string {
  const isAnchored = /^\^[^|]*\$$/.test(source);
  const uncounted = source.replace(/\{(\d+),?\d*\}/g, (_, least) => (least === '0' ? '*' : '+'));
  const isSafe = isAnchored && uncounted !== source && patternStatus(uncounted, flags) === 'safe';
  return isSafe ? 'safe' : patternStatus(source, flags);
}

describe('H01: every regular expression of the service needs no more than linear time', () => {
  test('the patterns are found', () => {
    expect(literals.length).toBeGreaterThan(40);
    expect(literals.map(({ path }) => path)).toContain('functions/http/path.ts');
  });

  test.each(distinct.filter(({ source }) => !Object.hasOwn(bounded, source)))(
    '$path: /$source/$flags',
    ({ source, flags }) => {
      expect(verdictOf(source, flags)).toBe('safe');
    },
  );

  test('no exception is left over', () => {
    const sources = new Set(literals.map(({ source }) => source));
    expect(Object.keys(bounded).filter((source) => !sources.has(source))).toEqual([]);
  });

  test('a quadratic pattern is found', () => {
    for (const pattern of ['/^(a|a)*$/', '/^[a-z]*[a-z0-9]*$/', '/^(?:a{1,9})+$/']) {
      const [planted] = patternsOf(`const slow = ${pattern};`);
      expect(verdictOf(planted?.source ?? '', planted?.flags ?? '')).toBe('vulnerable');
    }
  });
});
