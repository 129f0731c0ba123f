import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { startTool } from '../support/operator-tool.ts';

/** `svc outbox` when it is stopped while a server does not answer. */

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

async function onServer(handle: Handle, use: (address: string) => Promise<void>): Promise<void> {
  const server = createServer(handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Runs the command against a server that answers the events of `done`, and stops it at its next request. */
async function stoppedAtRequest(
  args: readonly string[],
  signal: NodeJS.Signals,
  done: readonly string[] = [],
): Promise<unknown> {
  const waiting = Promise.withResolvers<void>();
  const handle: Handle = (request, response) => {
    if (!done.some((id) => request.url?.includes(id))) return waiting.resolve();
    response.writeHead(204).end();
  };
  let ended: unknown;
  await onServer(handle, async (address) => {
    const tool = startTool(['outbox', ...args, '--tenant', 'acme', '--base-url', address]);
    await Promise.race([waiting.promise, tool.ended]);
    tool.process.kill(signal);
    ended = await tool.ended;
  });
  return ended;
}

const signals = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const;

test.each(signals)('a list of events that %s stops lists nothing', async (signal, code) => {
  const ended = await stoppedAtRequest(['list'], signal);
  expect(ended).toEqual({ code, stdout: '', stderr: 'Interrupted: nothing was listed\n' });
});

test.each(signals)('a replay that %s stops says how many events were replayed', async (signal, code) => {
  const ended = await stoppedAtRequest(['replay', 'first', 'second', 'third'], signal, ['first', 'second']);
  const unknown = 'It is unknown whether the service executed the operation: check before you repeat it.';
  const stderr = `${unknown}\nInterrupted: 2 events were replayed\n`;
  expect(ended).toEqual({ code, stdout: '', stderr });
});

test('a replay of dead letters that is stopped before it has found them replays nothing', async () => {
  const ended = await stoppedAtRequest(['replay', '--dead-letters'], 'SIGINT');
  expect(ended).toEqual({ code: 130, stdout: '', stderr: 'Interrupted: 0 events were replayed\n' });
});
