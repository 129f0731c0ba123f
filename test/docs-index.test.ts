import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readNavigation } from '../functions/groups/server/docs/navigation.ts';

/** `docs/README.md` is the navigation of the documentation site: it names every page once. */

const pages = readNavigation(readFileSync('docs/README.md', 'utf8')).flatMap((section) => section.pages);
const named = pages.map(({ path }) => path);

test('names every page but those that a folder lists by itself', () => {
  const listed = /^(README|decisions\/\d|reference\/.*\.json)/;
  const files = globSync('**/*.md', { cwd: 'docs' }).map((path) => path.replaceAll('\\', '/'));
  expect(files.filter((path) => !listed.test(path) && !named.includes(path))).toEqual([]);
});

test('names no page twice, and none that does not exist', () => {
  expect(new Set(named).size).toBe(named.length);
  for (const path of named) expect(() => readFileSync(`docs/${path}`)).not.toThrow();
});

test('gives no page the address of the search of the site', () => {
  expect(named).not.toContain('search.md');
});
