import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { outboxCommand } from '../outbox.ts';
import { exitCodes } from '../output.ts';
import { runsCommand } from '../runs.ts';
import { RUN } from './answer-shape.ts';

/** Runs the command against a server that answers everything with the body. */
async function against(body: unknown, line: string): Promise<void> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const [group, ...words] = line.split(' ');
    const command = group === 'outbox' ? outboxCommand() : runsCommand();
    await command.parseAsync([...words, '--server', address], { from: 'user' });
  } finally {
    server.close().closeAllConnections();
  }
}

const run = Object.fromEntries(RUN.members.map((name) => [name, null]));

test.each<[string, unknown, string]>([
  ['outbox list --tenant t', {}, 'queryCanonicalOutbox was answered without the member continuationToken'],
  ['outbox list --tenant t', { continuationToken: null }, 'without the list items'],
  ['outbox list --tenant t', { continuationToken: null, items: [{}] }, 'with an item without the member id'],
  ['outbox replay --tenant t --dead-letters', {}, 'without the member continuationToken'],
  ['runs list', {}, 'listExecutionRuns was answered without the list that it is'],
  ['runs list', [null], 'with an item that is no object'],
  ['runs cancel r', {}, 'cancelExecutionRun was answered without the member id'],
  ['runs show r', [], 'getExecutionRun was answered with what is no object'],
  ['runs show r', { ...run, status: undefined }, 'without the member status'],
  ['runs show r --history', run, 'getExecutionRunHistory was answered without the list that it is'],
  ['runs watch r', {}, 'getExecutionRun was answered without the member id'],
])('svc %s refuses the answer %j', async (line, body, words) => {
  await expect(against(body, line)).rejects.toMatchObject({
    exitCode: exitCodes.failed,
    message: expect.stringContaining(words),
  });
});
