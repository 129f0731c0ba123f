import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { type Attack, attacks } from './attacks.ts';
import { attackFaults, attackTable, countsByState, idsIn, occurrences } from './registry.ts';

const found = occurrences(resolve(import.meta.dirname, '../..'));

test('every attack is where the list says it is', () => {
  expect(attackFaults(found)).toEqual([]);
  console.info('attacks', countsByState());
});

test('the list has every id of its groups, once', () => {
  const ids = attacks.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const sizes = Object.entries(Object.groupBy(ids, (id) => id.charAt(0))).map(
    ([letter, all = []]) => letter + all.length,
  );
  expect(sizes.join(' ')).toBe('A25 B5 C6 D13 E25 F14 G12 H3 I7 J5 K4 L4 M10 N5 O12 P10');
});

test('the number of untested attacks only shrinks', () => {
  const { later, benchmark } = countsByState();
  expect(later).toBe(0);
  expect(benchmark).toBeLessThanOrEqual(1);
});

test('ids are read from strings, not from comments, patterns or longer words', () => {
  const text = [
    "test('A01: one', () => {}); // A02",
    '/* A03 */ test.each([["A04", 1]])',
    'test(`A05 ${name}`); const pattern = /A06/; const type = "*/*"; // "A07"',
    "describe('E01-E03 and F01-G02'); 'XA08' 'A090' 'U+A10'",
  ].join('\n');
  expect([...idsIn(text)].sort()).toEqual(['A01', 'A04', 'A05', 'A10', 'E01', 'E02', 'E03', 'F01']);
});

/** An attack on a part that does not exist yet. */
const planned: Attack = { id: 'Z01', what: 'an attack', state: 'later', reason: 'the part is missing' };

test('an id that moves away from its state is found', () => {
  const without = new Map([...found.tests].filter(([id]) => id !== 'D01'));
  expect(attackFaults({ ...found, tests: without })).toEqual(['D01 is tested, and no test names it']);
  const early = new Map([...found.tests, ['Z01', ['a.test.ts']]] as const);
  expect(attackFaults({ ...found, tests: early }, [planned])).toEqual([
    'Z01 is for later, and is tested: a.test.ts',
  ]);
  expect(attackFaults({ ...found, benches: new Map() })).toEqual([
    'K02 is a benchmark, and no bench names it',
  ]);
});

test('the table has a row for each, with where it is tested', () => {
  const rows = attackTable(found).trim().split('\n');
  expect(rows).toHaveLength(attacks.length + 2);
  expect(rows.find((row) => row.startsWith('| D01 '))).toContain('`test/security/matrix.test.ts`');
  expect(attackTable(found, [planned])).toContain('| Z01 | an attack | later | the part is missing |');
  for (const row of rows) expect(row.split(/(?<!\\)\|/)).toHaveLength(6);
});
