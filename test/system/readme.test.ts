import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
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

async function startDev(folder: string) {
  const words = [join(root, 'functions/embedded.ts'), 'dev', 'worker.ts', '--port', '0'];
  const server = new Program(words, { cwd: folder });
  const [, url = ''] = await server.says(/^ {2}api +(\S+)$/m);
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
  const blocks = (tag: string) =>
    [...readme.matchAll(new RegExp(`^\`\`\`${tag}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, text = '']) => text);
  const [commit = '', read = '', work = '', ...more] = blocks('sh');
  const [handler = '', ...others] = blocks('ts');
  expect([...more, ...others]).toEqual([]);
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
    server.signal('SIGINT');
    expect((await server.exit).code).toBe(0);

    await writeFile(join(folder, 'worker.ts'), handler);
    expect(readme).toContain('`npm start -- dev worker.ts`');
    const [begin = ''] = work.split(/^(?=curl)/m);
    const first = await startDev(folder);
    await using service = first.server;
    expect(await answersOf(begin, first.url, folder)).toEqual([]);
    // The page stops the service here. All commands work afterwards: the start is answered with the run that it began.
    service.signal('SIGINT');
    await service.exit;
    const second = await startDev(folder);
    await using again = second.server;
    const [event, run] = await answersOf(work, second.url, folder);
    expect(event).toMatchObject({ name: 'approval' });
    expect(run).toMatchObject({ status: 'succeeded', result: { approval: { by: 'kim' } } });
    again.signal('SIGINT');
    expect((await again.exit).code).toBe(0);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
