import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  compilerOn,
  flagsOf,
  guides,
  type Language,
  programOf,
  promisedBy,
  Reader,
  whyNoPython,
} from './guides.ts';

/** Every snippet of the guides is run, and prints the output that the guide shows. */

const files = (await readdir(guides)).filter((file) => file.endsWith('.md')).sort();
const written = await Promise.all(
  files.map(async (file) => ({ file, text: await readFile(join(guides, file), 'utf8') })),
);
const pages = written.filter(({ file }) => file !== 'README.md');
const noPython = await whyNoPython();

test('the contents name every guide', () => {
  const contents = written.find(({ file }) => file === 'README.md')?.text ?? '';
  const listed = [...contents.matchAll(/^\| \[[^\]]+\]\(([^)]+)\)/gm)].map(([, file]) => file);
  expect(listed).toHaveLength(pages.length);
  expect(new Set(listed)).toEqual(new Set(pages.map(({ file }) => file)));
});

test.runIf(process.env.CI === 'true')('Python is there to run its snippets', () => {
  expect(noPython).toBeUndefined();
});

async function follow(text: string, language: Language): Promise<void> {
  await using reader = await Reader.start(flagsOf(text));
  await keepsItsPromises(reader, text, language);
}

/** The program of a language, then what the guide has for the shell, which finds the data that the program left. */
async function keepsItsPromises(reader: Reader, text: string, language: Language): Promise<void> {
  for (const each of [language, 'sh'] as const) {
    const program = programOf(text, each);
    if (each === 'sh' && program === '') continue;
    const promised = promisedBy(program);
    expect(promised, `what the snippets of ${each} promise`).not.toEqual([]);
    const { code, stderr, lines } = await reader.run(program, each);
    expect({ lines, code, stderr }).toEqual({ lines: promised, code: 0, stderr: '' });
  }
}

describe.each(pages)('$file', ({ text }) => {
  test('has only fences that are run', () => {
    const marks = [...text.matchAll(/^[ \t>]*(?:```|~~~).*$/gm)].map(([mark]) => mark);
    const odd = marks.filter((mark, n) =>
      n % 2 === 0 ? !['```ts', '```python', '```sh'].includes(mark) : mark !== '```',
    );
    expect(odd).toEqual([]);
  });

  test('runs in TypeScript', () => follow(text, 'ts'));

  const left = noPython === undefined ? '' : ` (skipped: ${noPython})`;
  test.skipIf(noPython !== undefined)(`runs in Python${left}`, () => follow(text, 'python'));
});

test('the compiler has nothing against the TypeScript of the guides', async () => {
  expect(await compilerOn(pages.map(({ text }) => programOf(text, 'ts')))).toBe('');
});

describe('the check itself', () => {
  const block = (tag: string, ...lines: string[]) => ['```'.concat(tag), ...lines, '```', ''].join('\n');

  test('puts the snippets of a language together in their order', () => {
    const guide = [block('ts', 'a'), 'b', block('python', 'c'), block('ts', 'd', '', 'e')].join('\n');
    expect(programOf(guide, 'ts')).toBe('a\n\nd\n\ne\n');
    expect(programOf(guide, 'sh')).toBe('');
  });

  test('reads the promised output of a snippet', () => {
    const program = `console.log(1); // => 1\nprint(2)  # => a # b\n// no promise\nf(() => 3);\n# => last`;
    expect(promisedBy(program)).toEqual(['1', 'a # b', 'last']);
  });

  test('finds snippets that the compiler refuses', async () => {
    const program = "import { SvcClient } from '@svc-runtime/client';\nnew SvcClient({ baseUrl: 1 });\n";
    expect(await compilerOn([program])).toContain("Type 'number' is not assignable to type 'string'");
  });

  const wrong: [string, Language, string, object][] = [
    ['another answer', 'ts', 'console.log(1); // => 2', { lines: ['1'], code: 0 }],
    ['a line too many', 'sh', 'echo 1 # => 1\necho 2', { lines: ['1', '2'], code: 0 }],
    ['a failure after the last line', 'ts', 'console.log(1); // => 1\nthrow 2', { lines: ['1'], code: 1 }],
    ['a failure in the middle', 'sh', 'false\necho 1 # => 1', { lines: [], code: 1 }],
  ];
  test.each(wrong)('finds %s', async (_, language, program, run) => {
    await using reader = await Reader.start();
    expect(await reader.run(program, language)).toMatchObject(run);
    await expect(keepsItsPromises(reader, block(language, program), language)).rejects.toThrow(
      'deeply equal',
    );
  });
});
