import { expect, test } from 'vitest';
import { bestSentence } from '../../examples/answers/answer.ts';
import { edited, pagesOf } from '../../examples/answers/documents.ts';
import { Program, root } from './program.ts';

const script = 'examples/answers/run.ts';

test('questions are answered with citations, and an edit writes only changed chunks', async () => {
  const words = ['--pages', '12', '--question', 'What happens to the records of a deleted collection?'];
  await using example = new Program([script, ...words], { cwd: root });
  expect(await example.exit, example.stdout + example.stderr).toEqual({ code: 0, signal: null });
  const { stdout } = example;
  expect(stdout).toMatch(/^Ingested 12 pages as (\d+) chunks, with \1 vectors of the model\.$/m);
  expect(stdout).toMatch(/^Context:\n {2}\[c1\] .+ …$/m);
  expect(stdout).toMatch(/^Answer: .+ \[c\d+\]$/m);
  expect(stdout).toMatch(/^ {2}\[c\d+\] docs\/\w+\.md \(.+\)$/m);
  const [, chunks, embedded, kept] =
    /^Edited docs\/collections\.md: of its (\d+) chunks the model embedded (\d+), and (\d+) kept their vectors\.$/m.exec(
      stdout,
    ) ?? [];
  expect(Number(embedded) + Number(kept)).toBe(Number(chunks));
  expect(Number(embedded)).toBeLessThanOrEqual(3);
  expect(stdout).toMatch(
    /^The other 11 pages again: (\d+) of \1 chunks stayed as they were, and the model made 0 vectors\.$/m,
  );
  expect(stdout).toContain('Asked about the new sentence: The glockenspiel of the release rings at noon.');
  expect(stdout).toMatch(/^Every promise was kept, in /m);
});

test('a provider that the service does not have fails the example with its name', async () => {
  await using example = new Program([script, '--pages', '1', '--provider', 'absent'], { cwd: root });
  expect((await example.exit).code).toBe(1);
});

test('a wrong option and the help say the usage', async () => {
  for (const words of [
    ['--page', '3'],
    ['--pages', '0'],
  ]) {
    await using wrong = new Program([script, ...words], { cwd: root });
    expect((await wrong.exit).code).toBe(2);
    expect(wrong.stderr).toContain('usage: npm run example:answers');
  }
  await using help = new Program([script, '--help'], { cwd: root });
  expect((await help.exit).code).toBe(0);
  expect(help.stdout).toContain('--provider');
});

test('an edit adds one sentence to one paragraph', () => {
  const page = { path: 'p.md', title: 'T', text: '# T\n\nOne.\n\nTwo.\n' };
  expect(edited(page, 'New.').text).toBe('# T\n\nOne. New.\n\nTwo.\n');
  expect(pagesOf(root).every(({ path, title }) => path.startsWith('docs/') && title !== '')).toBe(true);
});

test('the best sentence has the rare words of the question, and cites its chunk', () => {
  const chunk = (text: string, id: string) => ({ text, citationIds: [id] });
  const chunks = [
    chunk('The service keeps records of all kinds.', 'c1'),
    chunk('The service reads records.\nThe sweep removes records ten minutes later.', 'c2.1'),
  ];
  const context = { query: 'When does the sweep remove records?', chunks } as unknown as Parameters<
    typeof bestSentence
  >[0];
  expect(bestSentence(context)).toBe('The sweep removes records ten minutes later. [c2.1]');
});
