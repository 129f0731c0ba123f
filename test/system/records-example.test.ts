import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { libraryOf, piecesOfPage } from '../../examples/records/library.ts';
import { firestoreHost, firestoreMissing } from '../support/firestore.ts';
import { Program, root } from './program.ts';

const script = 'examples/records/run.ts';

function expectStory({ stdout, stderr }: Program): void {
  expect(stdout).toContain('The collection library exists: library.');
  expect(stdout).toMatch(/^2 clients loaded \d+ records in /m);
  expect(stdout).toMatch(/^Found [1-9]\d* operations, in \d+ pages\.$/m);
  expect(stdout).toMatch(/^Found \d+ texts with the phrase "idempotency key", the best first\.$/m);
  expect(stdout).toMatch(/^Nearest to ".+" are the operations \w+(?:, \w+)*\.$/m);
  expect(stdout).toContain('A search found a record right after its write, and not after its deletion.');
  expect(stdout).toContain('Ingested leases.md and leases.png as artifacts, and read them back.');
  expect(stdout).toMatch(/^A job embedded 128 texts, and their vectors are written\.$/m);
  expect(stdout).toMatch(
    /^Nearest to "How long does a worker hold .+" are (?:"[^"]+", )?"How long workers hold their runs", /m,
  );
  expect(stdout).toMatch(/^3 readers saw edition 1 [1-9]\d* times and then edition 2 [1-9]\d* times/m);
  expect(stdout).toContain('The collection is deleted, and no query finds it.');
  expect(stdout).toMatch(/^Every promise was kept, in /m);
  // Without a terminal the progress is a line for each quarter.
  expect(stderr).toMatch(/^loading: (\d+)\/\1$/m);
  expect(stderr).toMatch(/^replacing: (\d+)\/\1$/m);
  expect(stderr).not.toContain('\r');
}

test('readers see whole editions on the embedded service', async () => {
  await using example = new Program([script], { cwd: root });
  expect(await example.exit, example.stdout + example.stderr).toEqual({ code: 0, signal: null });
  expectStory(example);
});

const missing = firestoreMissing === undefined ? '' : ` (skipped: ${firestoreMissing})`;
test.skipIf(missing !== '')(`readers see whole editions on the local cloud${missing}`, async () => {
  const env = { FIRESTORE_EMULATOR_HOST: firestoreHost() };
  await using example = new Program([script, '--cloud', '--records', '300'], { cwd: root, env });
  expect(await example.exit, example.stdout + example.stderr).toEqual({ code: 0, signal: null });
  expectStory(example);
});

test('a wrong option and the help say the usage', async () => {
  for (const words of [
    ['--record', '300'],
    ['--records', '7'],
    ['--clients', '0'],
  ]) {
    await using wrong = new Program([script, ...words], { cwd: root });
    expect((await wrong.exit).code).toBe(2);
    expect(wrong.stderr).toContain('usage: npm run example:records');
  }
  await using help = new Program([script, '--help'], { cwd: root });
  expect((await help.exit).code).toBe(0);
  expect(help.stdout).toContain('--cloud');
});

test('an interrupt while it loads stops it and the service', async () => {
  await using example = new Program([script], { cwd: root });
  const [, address = ''] = await example.says(/The service answers on (\S+)\.$/m);
  await example.says(/The collection library exists/);
  example.signal('SIGINT');
  expect(await example.exit).toEqual({ code: 1, signal: null });
  await expect(fetch(address)).rejects.toThrow('fetch failed');
});

test('the data set has a few thousand records, each with a key of its own, of every kind', () => {
  for (const edition of [1, 2] as const) {
    const records = libraryOf(root, edition, 10_000);
    expect(records.length).toBeGreaterThan(2_000);
    expect(new Set(records.map(({ id }) => id)).size).toBe(records.length);
    const kinds = new Set(records.map(({ metadata }) => metadata.kind));
    expect(kinds).toEqual(new Set(['passage', 'operation', 'member']));
    expect(libraryOf(root, edition, 300)).toHaveLength(300);
  }
});

test('the picture has the size of its numbers', () => {
  const picture = readFileSync(`${root}/examples/records/files/leases.png`);
  const page = readFileSync(`${root}/examples/records/files/leases.md`, 'utf8');
  const numbers = [...page.matchAll(/\| (\d+) +\|$/gm)].map(([, number]) => Number(number));
  expect(picture.toString('latin1', 1, 4)).toBe('PNG');
  expect([picture.readUInt32BE(16), picture.readUInt32BE(20)]).toEqual([
    20 + numbers.length * 48 - 12,
    20 + Math.max(...numbers) * 3,
  ]);
});

test('a page is cut at headings, paragraphs, code blocks and table rows', () => {
  const page = '# A\n\none\ntwo\n\n## B\n\n| h |\n|---|\n| r |\n\n```sh\nx\n\n# y\n```\n';
  expect(piecesOfPage('p.md', page).map(({ title, text }) => [title, text])).toEqual([
    ['A', 'one\ntwo'],
    ['B', '| h |'],
    ['B', '| r |'],
    ['B', '```sh\nx\n\n# y\n```'],
  ]);
});
