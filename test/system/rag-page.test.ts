import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { programOf, promisedBy, Reader } from './guides.ts';
import { root } from './program.ts';

/** The first examples of docs/rag.md, run against a real service. */

const page = await readFile(join(root, 'docs/rag.md'), 'utf8');
let reader: Reader;
beforeAll(async () => {
  reader = await Reader.start();
});
afterAll(() => reader[Symbol.asyncDispose]());

test.each(['ts', 'python'] as const)('the example in %s prints what the page shows', async (language) => {
  const program = programOf(page, language);
  const { code, lines, stderr } = await reader.run(program, language);
  expect([code, lines], stderr).toEqual([0, promisedBy(program)]);
});

test('the example of the shell answers a context with its citation', async () => {
  const { code, lines, stderr } = await reader.run(programOf(page, 'sh'), 'sh');
  expect([code, stderr]).toEqual([0, '']);
  expect(lines.join('\n')).toContain('[c1] kettle.pdf (record: kettle-chunk-0000-');
});
