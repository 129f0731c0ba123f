import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { interruptible } from '../../interruption.ts';
import { exitCodes, ToolError, warn } from '../../output.ts';
import { addressText } from '../../remote/address.ts';
import type { Inputs } from '../../remote/inputs.ts';
import { connect, mediaTypeOf, type Remote, type RemoteOptions } from '../../remote.ts';
import type { HttpAnswer } from './answer.ts';
import { type ClientParts, serveClient } from './client.ts';

const BODY_BYTES_MAX = 67_108_864;

/** Serves one client on standard input and output, with the address and the credentials of the command. */
export async function serveStdio(command: Command, inputs: Inputs): Promise<void> {
  refuseVisibleCredentials(command);
  // A wrong address or a missing file shows at the start, not at the first message.
  const { server } = await connect(command, inputs);
  const post: ClientParts['post'] = async (body, fields, signal) => {
    const remote = await connect(command, inputs);
    const headers = [['Content-Type', 'application/json'], ['Accept', ACCEPTED], ...fields] as const;
    return answerOf(remote, await remote.send({ method: 'POST', path: '/mcp', headers, body }, signal));
  };
  const end = await interruptible('the service goes on', (signal) => {
    warn(`Serving ${addressText(server)} over MCP on standard input and output.`);
    return serveClient({ input: process.stdin, post, write: writeLine, log: warn, pause: after }, signal);
  });
  if (end === 'answered') return;
  warn('The client did not read its last answers: they are lost.');
  // Open writes would keep the process alive.
  process.exit(exitCodes.failed);
}

const ACCEPTED = 'application/json, text/event-stream';

/** An argument is visible to other users of the machine, and stays in the files of the desktop program. */
function refuseVisibleCredentials(command: Command): void {
  const { apiKeyFile, identityTokenFile } = command.optsWithGlobals<RemoteOptions>();
  for (const [name, option] of [
    ['apiKey', '--api-key'],
    ['identityToken', '--identity-token'],
  ] as const)
    if (command.getOptionValueSourceWithGlobals(name) === 'cli')
      throw new ToolError(
        `${option} shows the credential: use ${option}-file or a variable.`,
        exitCodes.usage,
      );
  if (apiKeyFile === '-' || identityTokenFile === '-')
    throw new ToolError(
      'Standard input carries the protocol: name a file with the credential.',
      exitCodes.usage,
    );
}

function answerOf(remote: Remote, answer: IncomingMessage): HttpAnswer {
  const retryAfter = Number(answer.headers['retry-after']);
  return {
    status: answer.statusCode ?? 0,
    mediaType: mediaTypeOf(answer),
    ...(Number.isInteger(retryAfter) ? { retryAfterSeconds: retryAfter } : {}),
    chunks: remote.chunksOf(answer),
    body: () => remote.bodyOf(answer, BODY_BYTES_MAX),
    refusal: async (body) => (await remote.refusal(answer, body)).message,
  };
}

function after(milliseconds: number, signal: AbortSignal): Promise<void> {
  return pause(milliseconds, undefined, { signal });
}

function writeLine(line: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(`${line}\n`, (error) => {
      if (error === null || error === undefined) resolve();
      else reject(error);
    });
  });
}
