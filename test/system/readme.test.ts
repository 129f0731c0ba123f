import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Program, root } from './program.ts';

/** The commands of README as a reader types them, on a port and in a folder of their own. */

const ADDRESS = 'http://127.0.0.1:5220';

async function start(folder: string) {
  const server = new Program([join(root, 'functions/embedded.ts')], { cwd: folder, env: { PORT: '0' } });
  const [, url = ''] = await server.says(/is ready at (\S+)/);
  return { server, url };
}

/** The objects in the lines of the answers; an answer without content adds none. */
async function answersOf(commands: string, url: string, folder: string): Promise<object[]> {
  // One answer a line: curl prints no line end.
  const text = commands.replaceAll(ADDRESS, url).replaceAll('curl -s ', "curl -s -w '\\n' ");
  await using shell = new Program(['-euc', text], { cwd: folder, command: 'sh' });
  const { code } = await shell.exit;
  expect([code, shell.stderr]).toEqual([0, '']);
  return shell.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as object);
}

test('every command of README works as read, in its order', async () => {
  const readme = await readFile(join(root, 'README.md'), 'utf8');
  const [commit = '', read = '', ask = '', work = '', ...more] = [
    ...readme.matchAll(/^```sh\n(.*?)^```$/gms),
  ].map(([, text = '']) => text);
  expect(more).toEqual([]);
  const starts = [...readme.matchAll(/^ {4}(?:npx @svc-runtime\/server dev|npm install && npm start)$/gm)];
  expect(starts.map(([line]) => line.trim())).toEqual([
    'npx @svc-runtime/server dev',
    'npm install && npm start',
  ]);
  const folder = await mkdtemp(join(tmpdir(), 'svc-readme-'));
  try {
    const { server: started, url } = await start(folder);
    await using server = started;
    const answers = (commands: string) => answersOf(commands, url, folder);
    expect(await answers(commit)).toMatchObject([{ replayed: false }]);
    expect(await answers(commit)).toMatchObject([{ replayed: true }]);
    expect(await answers(read)).toMatchObject([
      { id: '1042', revision: 1 },
      [{ event: { topic: 'claim.reported' } }],
    ]);
    // A reader who starts the run before a worker asks: the same commands work later.
    const [early] = await answers(work.split('curl').slice(0, 2).join('curl'));
    expect(early).toMatchObject({ code: 'handler_missing' });
    expect(await answers(ask)).toEqual([]);
    const [run, lease] = await answers(work);
    expect(run).toMatchObject({ status: 'queued', handlerId: 'refund.pay' });
    expect(lease).toMatchObject({ leaseToken: expect.any(String), run: { handlerId: 'refund.pay' } });
    server.signal('SIGINT');
    expect((await server.exit).code).toBe(0);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
