import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

/** The table of findings in docs/security.md names tests that exist. */

const page = readFileSync('docs/security.md', 'utf8');
const table = page.slice(page.indexOf('<!-- findings -->'), page.indexOf('<!-- /findings -->'));
const rows = table
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(1)
  .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()));

/** The faults in the list of tests that a cell names: paths in backticks, each followed by titles in quotes. */
function testFaults(cell: string): readonly string[] {
  const faults: string[] = [];
  let text = '';
  let path = '';
  for (const [, file, title] of cell.matchAll(/`([^`]+)`|"((?:[^"\\]|\\.)+)"/g)) {
    if (file !== undefined) {
      if (!/\.(ts|py|json)$/.test(file)) continue;
      path = file;
      text = existsSync(file) ? readFileSync(file, 'utf8') : '';
      if (text === '') faults.push(`${file} does not exist`);
    } else if (title !== undefined && !text.includes(title.replaceAll("'", "\\'")) && !text.includes(title)) {
      faults.push(`${path} has no test "${title}"`);
    }
  }
  return path === '' && !cell.includes('npm run bench') ? [...faults, 'no test is named'] : faults;
}

describe('the findings of docs/security.md', () => {
  test.each(rows.map((cells) => [cells[1] ?? '', cells] as const))('%s', (_, cells) => {
    expect(cells).toHaveLength(6);
    expect(cells.slice(1, 5).every((cell) => cell !== '')).toBe(true);
    expect(testFaults(cells[2] ?? '')).toEqual([]);
  });

  test('name their tests so that a missing title is found', () => {
    const here = '`test/security/findings.test.ts`';
    expect(rows.length).toBeGreaterThan(4);
    expect(testFaults('by hand')).toEqual(['no test is named']);
    expect(testFaults('`test/gone.test.ts`')).toEqual(['test/gone.test.ts does not exist']);
    expect(testFaults(`${here}: "${['an old', 'title'].join(' ')}"`)).toHaveLength(1);
    expect(testFaults(`${here}: "the findings of docs/security.md"`)).toEqual([]);
  });
});
