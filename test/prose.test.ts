import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { avoided, OPENINGS_MAX, openingFaults, unread, wordFaults } from './prose.ts';

/** Texts name the actor and the thing: avoided words are absent, and comments begin with a statement. */

const root = resolve(import.meta.dirname, '..');

const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 24 })
  .split('\0')
  .filter((path) => path !== '');
const held = tracked
  .filter((path) => !unread.some((each) => each.path.test(path)))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

test('the files are found, and every exception has one', () => {
  expect(held.length).toBeGreaterThan(1_000);
  const idle = unread.filter((each) => !tracked.some((path) => each.path.test(path)));
  expect(idle.map(({ why }) => why)).toEqual([]);
});

test(`no text says ${avoided.join(', ')}`, () => {
  const faults = held.flatMap(({ path, text }) =>
    wordFaults(path, text).map(
      ({ line, words }) => `${path}:${line} says ${words}; say who does what to which thing`,
    ),
  );
  expect(faults).toEqual([]);
});

test(`at most ${OPENINGS_MAX} comment lines and headings begin with What`, () => {
  const faults = held.flatMap(({ path, text }) =>
    openingFaults(path, text).map(({ line }) => `${path}:${line}`),
  );
  expect(faults.slice(OPENINGS_MAX)).toEqual([]);
});

describe('the check', () => {
  const planted: readonly (readonly [string, string, string])[] = [
    ['a comment', 'a.ts', '// The caller is told.'],
    ['a comment of several lines', 'a.ts', '/**\n * Left to\n * whoever asks.\n */'],
    ['two words over two lines', 'docs/a.md', 'what becomes\nof it'],
    ['the title of a test', 'a.test.ts', `test('nobody listens', () => undefined);`],
    ['a template', 'a.ts', 'fail(`nobody reads ${path}`);'],
    ['a string behind a regular expression with a quotation mark', 'a.ts', `x(/'/, 'it is told so');`],
    ['a docstring', 'a.py', '"""Whatever it holds."""'],
    ['the name of a test in Python', 'a.py', 'def test_nobody_listens() -> None:'],
    ['the name of a class of tests in Python', 'a.py', 'class TestToldApart:'],
    ['a description', 'a.json', '{"description": "Lets go of it."}'],
    ['a comment of Terraform', 'a.tf', '# Nobody else.'],
    ['a page', 'docs/a.md', 'Whatever the size.'],
    ['code of a page', 'docs/a.md', '```ts\n// The caller is told.\n```'],
    ['a unit of systemd', 'infra/a.service', '# Whoever starts it.'],
    ['the unreleased section of the changelog', 'CHANGELOG.md', '# C\n\n## 2\n\ntold\n\n## 1\n\ntold\n'],
  ];
  test.each(planted)('finds a word in %s', (_, path, text) => {
    expect(wordFaults(path, text)).toHaveLength(1);
  });

  const sound: readonly (readonly [string, string, string])[] = [
    ['a name of the code', 'a.ts', 'const told = nobody(whatever);'],
    ['a value', 'a.ts', `run('nobody');`],
    ['the code of a template', 'a.ts', 'say(`all of ${told} is there`);'],
    ['a part of a word', 'a.ts', '// untold'],
    ['quotation marks', 'docs/a.md', 'The title is "nobody\nlistens" there.'],
    ['code marks', 'a.ts', '// The user `nobody` exists.'],
    ['a released section', 'CHANGELOG.md', '# C\n\n## 2\n\n## 1\n\ntold\n'],
  ];
  test.each(sound)('passes over %s', (_, path, text) => {
    expect(wordFaults(path, text)).toEqual([]);
  });

  test('names the line and the word', () => {
    const comment = 'const a = 1;\n\n/**\n * The actor lets\n * go.\n */';
    expect(wordFaults('a.ts', comment)).toEqual([{ line: 4, words: 'lets go' }]);
    expect(wordFaults('a.ts', 'const a = 1;\n// Nobody.\n')).toEqual([{ line: 2, words: 'nobody' }]);
  });

  test.each([
    ['a.ts', '// What it is.', 1],
    ['a.ts', '  /** What it is. */', 1],
    ['a.ts', '/**\n * What it is.\n */', 1],
    ['a.py', '"""What it is."""', 1],
    ['a.tf', '# What it is.', 1],
    ['docs/a.md', '# What it is', 1],
    ['a.ts', '// Whatever.', 0],
    ['a.ts', '// It is what it is. What else?', 0],
    ['a.ts', `say('What it is.');`, 0],
  ])('counts the openings of %s: %s', (path, text, count) => {
    expect(openingFaults(path, text)).toHaveLength(count);
  });
});
