import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commandsOf } from '../documented-commands.ts';
import { runTool } from '../support/operator-tool.ts';
import { startServer } from '../support/server-process.ts';

/** The commands of `docs/operating.md`, typed at a real service: the tool understands every one of them. */

const page = await readFile('docs/operating.md', 'utf8');
const commands = [...new Map(commandsOf(page).map((words) => [words.join(' '), words])).values()].filter(
  (words) =>
    // Not those that look at a project of Google.
    words.length > 1 && !words.some((word) => /^--(project|cloud)$/.test(word)),
);

/** The words of the page for what the reader fills in. */
const filled: Readonly<Record<string, string>> = {
  RUN_ID: '00000001767225600000',
  $run: '00000001767225600000',
  'sha256:…': `sha256:${'0'.repeat(64)}`,
};

let folder: string;
let server: Awaited<ReturnType<typeof startServer>>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-operating-'));
  server = await startServer({ SVC_DATA_DIR: join(folder, 'data') });
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

const run = (words: readonly string[]) => {
  const args = words.map((word) => (word === '$SVC_SERVER' ? server.address : (filled[word] ?? word)));
  // Paths outside the folder of the server go into the folder of the test.
  const kept = args.map((word) => (word.startsWith('/') ? join(folder, word) : word));
  return runTool(kept, { cwd: folder, env: { SVC_SERVER: server.address } });
};

/** A refusal, a missing run or archive, or a folder that is not empty; never 2, a command line that is not understood. */
const expected = [0, 1, 3, 4];

describe.concurrent('docs/operating.md', () => {
  test.each(commands.map((words) => [words.join(' '), words] as const))('svc %s', async (_, words) => {
    const { code, stderr } = await run(words);
    expect(expected, stderr).toContain(code);
  });
});
