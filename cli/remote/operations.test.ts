import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { exitCodes } from '../output.ts';
import { Remote } from '../remote.ts';
import { callOperation } from './operations.ts';

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

/** A server that answers everything alike. */
async function answering(status: number, body: string): Promise<Remote> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stops.push(() => server.close().closeAllConnections());
  return new Remote(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), [], {
    timeout: 10,
  });
}

const replay = { id: 'replayCanonicalOutbox', params: ['tenantId=t', 'eventId=e'], body: {} };

test('a success that the operation never answers is a failure that names both statuses', async () => {
  const remote = await answering(200, '{}');
  await expect(callOperation(remote, replay)).rejects.toMatchObject({
    exitCode: exitCodes.failed,
    message: expect.stringMatching(/^replayCanonicalOutbox answers 204: is the address .*\n200 OK\n/),
  });
});

test('the status of the operation is a success, and every other failure keeps its exit code', async () => {
  expect(await callOperation(await answering(204, ''), replay)).toEqual({ data: null, next: null });
  await expect(callOperation(await answering(404, '{}'), replay)).rejects.toMatchObject({
    exitCode: exitCodes.notFound,
  });
});
