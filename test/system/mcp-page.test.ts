import { readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { programOf, Reader } from './guides.ts';
import { Program, root } from './program.ts';

/** The commands of docs/mcp.md, and the agent of examples/mcp. */

const page = await readFile(join(root, 'docs/mcp.md'), 'utf8');
const [, line = ''] = /^ {4}npm start -- (.*)$/m.exec(page) ?? [];
const flags = line.split(' ');
const modules = join(root, 'node_modules/@modelcontextprotocol');

test('the commands of the page work against a service that is started as it says', async () => {
  await using reader = await Reader.start(flags);
  const { code, lines, stderr } = await reader.run(programOf(page, 'sh'), 'sh');
  expect([code, stderr]).toEqual([0, '']);
  expect(lines.filter((each) => each.startsWith('ok'))).toHaveLength(6);
  // The answers of a request of the newest revision, of a handshake, and of the same request in an older revision.
  const answers = lines.at(-1)?.replaceAll('}{"jsonrpc"', '}\n{"jsonrpc"').split('\n') ?? [];
  const empty = { result: { structuredContent: { items: [], continuationToken: null } } };
  expect(answers.map((each) => JSON.parse(each) as unknown)).toMatchObject([
    { id: 1, ...empty },
    { id: 1, result: { protocolVersion: '2025-11-25' } },
    { id: 2, ...empty },
  ]);
});

test('the agents of the page start durable work and get its result, with and without tasks', async () => {
  const program = programOf(page, 'ts');
  await using reader = await Reader.start(flags);
  await symlink(modules, join(reader.folder, 'node_modules/@modelcontextprotocol'));
  const made = await reader.run(programOf(page, 'sh').split('\nsvc mcp check')[0] ?? '', 'sh');
  expect([made.code, made.stderr]).toEqual([0, '']);
  const { code, lines, stderr } = await reader.run(program, 'ts');
  expect([code, stderr]).toEqual([0, '']);
  expect(lines.join(' ')).toMatch(/^false \[ .*id: 'n-1'.*\] task completed$/);
});

test('svc mcp check finds faults', async () => {
  await using reader = await Reader.start();
  const off = await reader.run('svc mcp check $SVC_BASE_URL', 'sh');
  expect(off.code).not.toBe(0);
  expect(off.stderr).toContain('route_not_found');
  expect(off.stderr).toContain('Mcp:Enabled');
});

test('a script in the place of a model searches, reads and starts a task', async () => {
  await using example = new Program([join(root, 'examples/mcp/run.ts')], { cwd: root });
  expect(await example.exit, example.stdout + example.stderr).toEqual({ code: 0, signal: null });
  expect(example.stdout).toContain('The model sees 18 tools.');
  expect(example.stdout).toMatch(/^ {2}the task is at /m);
  expect(example.stdout).toContain('The record summary-n-1 says: Workers hold a run under a lease.');
});
