import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Program, root } from './program.ts';

/** The lines that `svc-server dev` prints, typed into a shell, and its browser. */

const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'svc-dev-lines-')));
/** Answers the planted opener, and hands on the page that was to be shown. */
let shows: Server;
const shown = Promise.withResolvers<string>();
let next = shown;
let env: Record<string, string>;

beforeAll(async () => {
  shows = createServer((request, response) => {
    response.end();
    next.resolve(decodeURIComponent(request.url?.slice(1) ?? ''));
  }).listen(0, '127.0.0.1');
  await new Promise((listening) => shows.once('listening', listening));
  const { port } = shows.address() as AddressInfo;
  const programs = join(cwd, 'bin');
  mkdirSync(programs);
  for (const name of ['open', 'xdg-open']) {
    writeFileSync(join(programs, name), `#!/bin/sh\nexec curl -s "http://127.0.0.1:${port}/$1"\n`);
    chmodSync(join(programs, name), 0o755);
  }
  env = { PATH: `${programs}:${process.env['PATH'] ?? ''}` };
  writeFileSync(
    join(cwd, 'worker.mjs'),
    'export const handlers = { "it\'s $HOME": ({ payload }) => `Hello, ${payload.name}` };\n',
  );
});
afterAll(() => {
  shows.close();
  rmSync(cwd, { recursive: true, force: true });
});

async function typed(line: string): Promise<string> {
  await using shell = new Program(['-c', line], { command: 'sh', env });
  expect(await shell.exit).toEqual({ code: 0, signal: null });
  return shell.stdout;
}

test('a shell executes the three lines as they are printed, and --open shows the page', async () => {
  const entry = join(root, 'functions/embedded.ts');
  await using program = new Program([entry, 'dev', 'worker.mjs', '--port', '0', '--open'], { cwd, env });
  const [, text = ''] = await program.says(
    /^Commit a document, start a run, look around:\n((?: {2}.+\n){3})/m,
  );
  const [commit = '', start = '', open = ''] = text.split('\n');
  const page = `${/http:\/\/127\.0\.0\.1:\d+/.exec(open)?.[0] ?? 'no address'}/docs`;
  expect(await shown.promise).toBe(page);
  expect((await fetch(page)).status).toBe(200);
  expect(JSON.parse(await typed(commit))).toMatchObject({ documents: [{ id: '1', revision: 1 }] });
  // It may be pasted again.
  expect(JSON.parse(await typed(commit))).toMatchObject({ replayed: true });
  expect(JSON.parse(await typed(start))).toMatchObject({
    handlerId: "it's $HOME",
    status: 'succeeded',
    result: 'Hello, Ada',
  });
  next = Promise.withResolvers();
  await typed(open);
  expect(await next.promise).toBe(page);
});

test('the lines present a key of the settings, which the terminal has to be given first', async () => {
  const folder = join(cwd, 'with keys');
  mkdirSync(folder);
  const keys = ['first-key-0123456789', 'second-key-0123456789'];
  writeFileSync(join(folder, 'own.json'), JSON.stringify({ Server: { ApiKeys: keys } }));
  const entry = join(root, 'functions/embedded.ts');
  const words = [entry, 'dev', '../worker.mjs', '--port', '0', '--seed', '--settings', 'own.json'];
  await using program = new Program(words, { cwd: folder, env });
  // The worker and the sample data present the key too.
  await program.says(/^ {2}worker +\.\.\/worker\.mjs: it's \$HOME \(/m);
  const [, source, commit = ''] = await program.says(
    /read the key of (.+) from the terminal\. Set it first:\n {2}export SVC_API_KEY=\.\.\.\n\n.+\n {2}(.+)\n/,
  );
  expect(source).toBe('Server:ApiKeys (own.json)');
  expect(JSON.parse(await typed(commit))).toMatchObject({ code: 'unauthenticated' });
  expect(JSON.parse(await typed(`export SVC_API_KEY=${keys[0]}; ${commit}`))).toMatchObject({
    documents: [{ id: '1', revision: 1 }],
  });
  for (const key of keys) expect(program.stdout + program.stderr).not.toContain(key);
});

test('the lines say nothing of a key that the terminal has', async () => {
  const folder = join(cwd, 'with a variable');
  mkdirSync(folder);
  const own = { SVC_API_KEY: 'a-key-of-a-terminal-0123' };
  const words = [join(root, 'functions/embedded.ts'), 'dev', '--port', '0'];
  await using program = new Program(words, { cwd: folder, env: { ...env, ...own } });
  await program.says(/^ {2}curl -s \S+ -H "X-Svc-Api-Key: \$SVC_API_KEY" /m);
  expect(program.stdout).not.toContain('export');
});
