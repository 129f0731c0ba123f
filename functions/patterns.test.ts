import { globSync, readFileSync } from 'node:fs';
import { checkSync } from 'recheck';
import { describe, expect, test } from 'vitest';
import { patternsOf } from '../test/structure.ts';

const literals = globSync('functions/**/*.ts')
  .filter((path) => !path.endsWith('.test.ts'))
  .flatMap((path) => patternsOf(readFileSync(path, 'utf8')).map((pattern) => ({ path, ...pattern })));
/** Each of them once. */
const distinct = [...new Map(literals.map((each) => [`/${each.source}/${each.flags}`, each])).values()];

/** Patterns that are not linear, each with the reason why its text cannot be long. */
const bounded: Readonly<Record<string, string>> = {
  '\\uFFFD+$': 'its text was cut to the bytes of one index entry',
};

/** The checker's bounds in characters stay, which count the same on each machine. Its bounds in time end here. */
const byCountsAlone = { timeout: null, attackTimeout: null, incubationTimeout: null, seedingTimeout: null };
const statusOf = (source: string, flags: string) => checkSync(source, flags, byCountsAlone).status;

/**
 * The checker takes seconds for a count of thousands. Without its counts a pattern has every path that it had, and more; where it is
 * anchored at both ends, some text makes a matcher walk them all. So what is linear without counts is linear with them.
 */
function verdictOf(source: string, flags: string): string {
  const isAnchored = /^\^[^|]*\$$/.test(source);
  const uncounted = source.replace(/\{(\d+),?\d*\}/g, (_, least) => (least === '0' ? '*' : '+'));
  const isSafe = isAnchored && uncounted !== source && statusOf(uncounted, flags) === 'safe';
  return isSafe ? 'safe' : statusOf(source, flags);
}

describe('H01: every regular expression of the service needs no more than linear time', () => {
  test('they are found', () => {
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

  test('a quadratic one would be noticed', () => {
    for (const pattern of ['/^(a|a)*$/', '/^[a-z]*[a-z0-9]*$/', '/^(?:a{1,9})+$/']) {
      const [planted] = patternsOf(`const slow = ${pattern};`);
      expect(verdictOf(planted?.source ?? '', planted?.flags ?? '')).toBe('vulnerable');
    }
  });
});
