import { type ChildProcess, spawn } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compileCache } from '../support/compile-cache.ts';

/** `svc mcp serve` beside a client that does not read its answers. */

const main = resolve(import.meta.dirname, '../../cli/main.ts');

/** A service that is there. Messages that reach it have no answer. */
let service: Server;
let address: string;

beforeAll(async () => {
  service = createServer(() => undefined);
  await new Promise<void>((ready) => service.listen(0, '127.0.0.1', ready));
  address = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
});

afterAll(() => {
  service.closeAllConnections();
  service.close();
});

interface Stalled {
  readonly child: ChildProcess;
  readonly says: (text: string) => Promise<void>;
  readonly closed: Promise<{ readonly code: number | null; readonly stderr: string }>;
}

/** The process, whose standard output is read only once the test does so. */
function startStalled(): Stalled {
  const child = spawn(process.execPath, [main, 'mcp', 'serve', '--server', address], {
    env: { PATH: process.env['PATH'] ?? '', ...compileCache },
  });
  // A process that ends early closes the pipe of its input.
  child.stdin.on('error', () => undefined);
  let stderr = '';
  const looks = new Set<() => void>();
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    for (const look of looks) look();
  });
  const closed = new Promise<{ code: number | null; stderr: string }>((done) =>
    child.once('close', (code) => done({ code, stderr })),
  );
  const says = (text: string) =>
    new Promise<void>((done, fail) => {
      const look = () => {
        if (stderr.includes(text)) done();
      };
      looks.add(look);
      void closed.then(() => fail(new Error(`ended without saying ${text}: ${stderr}`)));
      look();
    });
  return { child, says, closed };
}

test('a client that reads no answers is held back, and SIGTERM ends the process all the same', async () => {
  const { child, says, closed } = startStalled();
  child.stdin?.write('x\n'.repeat(500_000));
  await says('further messages wait');
  child.kill('SIGTERM');
  const { code, stderr } = await closed;
  expect(code).toBe(1);
  expect(stderr).toContain('they are lost');
});

test('a client that reads late gets every answer', async () => {
  const { child, says, closed } = startStalled();
  const count = 50_000;
  child.stdin?.end('x\n'.repeat(count));
  await says('further messages wait');
  let lines = 0;
  child.stdout?.on('data', (chunk: Buffer) => {
    for (const byte of chunk) if (byte === 0x0a) lines += 1;
  });
  expect((await closed).code).toBe(0);
  expect(lines).toBe(count);
});
