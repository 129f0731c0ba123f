import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { compilerOn, flagsOf, programOf, promisedBy, Reader } from './guides.ts';
import { root } from './program.ts';

/** The pages for those who come from another system: the program of each is a file, which runs against a service. */

const folder = join(root, 'docs/coming-from');
const files = await readdir(folder);
const pages = await Promise.all(
  files
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .map(async (file) => ({
      file,
      text: await readFile(join(folder, file), 'utf8'),
      program: await readFile(join(folder, file.replace('.md', '.ts')), 'utf8'),
    })),
);

test('the contents name every page, and every program has a page', async () => {
  const contents = await readFile(join(folder, 'README.md'), 'utf8');
  const listed = [...contents.matchAll(/^\| .* \[[^\]]+\]\(([^)]+)\)/gm)].map(([, file = '']) => file);
  expect(listed.toSorted()).toEqual(pages.map(({ file }) => file).toSorted());
  const programs = files.filter((file) => file.endsWith('.ts'));
  expect(programs.toSorted()).toEqual(pages.map(({ file }) => file.replace('.md', '.ts')).toSorted());
});

describe.each(pages)('$file', ({ file, text, program }) => {
  test('has the program before and after, the words, the gaps, and reasons to stay', () => {
    const sections = [...text.matchAll(/^## (.*)$/gm)].map(([, title]) => title);
    const all = ['Before', 'After', 'Mapping', 'Missing here', 'When to stay'];
    expect(sections.filter((title) => all.includes(title ?? ''))).toEqual(all);
    expect(text).toContain('```typescript\n');
  });

  test('shows its file', () => {
    expect(programOf(text, 'ts')).toBe(program);
    expect(text).toContain(`docs/coming-from/${file.replace('.md', '.ts')}`);
  });

  test('runs, and prints what it announces', async () => {
    await using reader = await Reader.start(flagsOf(text));
    const promised = promisedBy(program);
    expect(promised).not.toEqual([]);
    const { code, stderr, lines } = await reader.run(program, 'ts');
    expect({ lines, code, stderr }).toEqual({ lines: promised, code: 0, stderr: '' });
  });
});

test('the compiler has nothing against the programs', async () => {
  expect(await compilerOn(pages.map(({ program }) => program))).toBe('');
});
