import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, expect, test } from 'vitest';
import { installedNodes } from '../test/support/installed-nodes.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'dispatcher-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const program = `
import { Dispatcher } from './dispatcher.ts';
import { HttpOutboxClient } from './http-client.ts';
const dispatcher = new Dispatcher({
  client: new HttpOutboxClient({ baseUrl: process.env.ADDRESS ?? '' }),
  tenantId: 'acme',
  consumerId: 'c',
  handlers: {
    good: () => {},
    bad: () => { throw new Error('no \\ud800'); },
  },
  onEvent: ({ type }) => {
    console.log(type);
    if (type === 'failed') void dispatcher.stop();
  },
});
dispatcher.start();`;

const event = (id: string, topic: string) => ({
  event: { id, tenantId: 'acme', topic, key: 'k', payload: 1, headers: {}, deliveryCount: 1 },
  leaseToken: id,
});

test.each(await installedNodes())('the dispatcher delivers events on Node %s', async (_, node) => {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: import.meta.dirname, loader: 'ts' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    write: false,
  });
  const file = join(folder, 'program.mjs');
  writeFileSync(file, outputFiles[0]?.contents ?? '');
  const seen: string[] = [];
  const server = createServer((request, response) => {
    const verb = request.url?.split('/').at(-1) ?? '';
    const isFirst = verb === 'leases' && seen.push(verb) === 1;
    if (verb !== 'leases') seen.push(verb);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(isFirst ? [event('1', 'good'), event('2', 'bad')] : []));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const env = { ADDRESS: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const { stdout } = await run(node, [file], { env });
  server.close();
  expect(stdout.split('\n')).toEqual(expect.arrayContaining(['leased', 'delivered', 'failed']));
  expect(seen).toEqual(expect.arrayContaining(['leases', 'ack', 'nack']));
});
