import { on, once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Check, runChecks } from './pool.ts';

const root = process.cwd();
let server: Server;
let connections: AsyncIterator<unknown>;
/** A program that ends with its connection. */
let waiting: string;

beforeAll(async () => {
  server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  connections = on(server, 'connection');
  const { port } = server.address() as AddressInfo;
  waiting = `require('node:net').connect(${port}, '127.0.0.1').on('error', () => {}).resume()`;
});

afterAll(() => server.close());

const node = (name: string, code: string): Check => ({ name, command: ['node', '-e', code] });

async function connected(): Promise<Socket> {
  const { value } = await connections.next();
  return (value as [Socket])[0].on('error', () => {}).resume();
}

test('a check that fails is reported with its output, and the others still run', async () => {
  const ended: string[] = [];
  const outcomes = await runChecks(
    [
      node('first', 'console.log("out"); console.error("err"); process.exitCode = 3'),
      { name: 'missing', command: ['no-such-program'] },
      node('killed', 'process.kill(process.pid, "SIGKILL")'),
      node('last', 'console.log("fine")'),
    ],
    { root, width: 1, onEnd: ({ name }) => ended.push(name) },
  );
  expect(ended).toEqual(['first', 'missing', 'killed', 'last']);
  expect(outcomes.map(({ passed }) => passed)).toEqual([false, false, false, true]);
  expect(outcomes[0]?.output.split('\n').sort()).toEqual(['', 'err', 'out']);
  expect(outcomes[1]?.output).toContain('no-such-program');
  expect(outcomes[2]?.output).toBe('ended by SIGKILL\n');
});

test('as many run at a time as the pool is wide', async () => {
  const outcomes = runChecks([node('a', waiting), node('b', waiting)], { root, width: 2 });
  const sockets = [await connected(), await connected()];
  for (const socket of sockets) socket.end();
  expect((await outcomes).map(({ passed }) => passed)).toEqual([true, true]);
});

test('a stop ends the running checks with their children, and starts no further one', async () => {
  const stop = new AbortController();
  const parent = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(waiting)}], { stdio: 'inherit' })`;
  const checks = [node('endless', parent), node('never', '')];
  const outcomes = runChecks(checks, { root, width: 1, signal: stop.signal });
  const child = await connected();
  stop.abort();
  await once(child, 'close');
  expect(await outcomes).toEqual([expect.objectContaining({ name: 'endless', passed: false })]);
});
