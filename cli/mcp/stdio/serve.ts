import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { interruptible } from '../../interruption.ts';
import { exitCodes, ToolError, warn } from '../../output.ts';
import { addressText } from '../../remote/address.ts';
import type { Inputs } from '../../remote/inputs.ts';
import { connect, mediaTypeOf, type Remote, type RemoteOptions } from '../../remote.ts';
import type { HttpAnswer } from './answer.ts';
import { isBlank, linesOf } from './lines.ts';
import { Relay, type RelayOptions } from './relay.ts';

/** As many bytes as `Mcp:BodyBytesMax` can allow. */
const LINE_BYTES_MAX = 33_554_432;
const BODY_BYTES_MAX = 67_108_864;
/** How long requests may go on after the end of the input. */
const DRAIN_MS = 30_000;

/** Serves one client on standard input and output, with the address and the credentials of the command. */
export async function serveStdio(command: Command, inputs: Inputs): Promise<void> {
  refuseVisibleCredentials(command);
  // A wrong address or a missing file shows at the start, not at the first message.
  const { server } = await connect(command, inputs);
  const post: RelayOptions['post'] = async (body, fields, signal) => {
    const remote = await connect(command, inputs);
    const headers = [['Content-Type', 'application/json'], ['Accept', ACCEPTED], ...fields] as const;
    return answerOf(remote, await remote.send({ method: 'POST', path: '/mcp', headers, body }, signal));
  };
  await interruptible('the service goes on', (signal) => {
    warn(`Serving ${addressText(server)} over MCP on standard input and output.`);
    return serve(process.stdin, { post, write: writeLine }, signal);
  });
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

/** Relays until the input ends or the signal comes, and then ends what is under way. */
async function serve(
  input: Readable,
  { post, write }: Pick<RelayOptions, 'post' | 'write'>,
  signal: AbortSignal,
): Promise<void> {
  let isStopped = false;
  const stop = () => {
    isStopped = true;
    input.destroy();
    relay.stop();
  };
  const relay = new Relay({
    post,
    write: (line) =>
      write(line).catch((error: unknown) => {
        // A client that reads no more has ended.
        stop();
        throw error;
      }),
    log: warn,
    lineBytesMax: LINE_BYTES_MAX,
    atWorkMax: 16,
    waitingMax: 256,
    waitingBytesMax: 2 * LINE_BYTES_MAX,
  });
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const line of linesOf(input, LINE_BYTES_MAX))
      if (line === 'too-long' || !isBlank(line)) relay.take(line);
  } catch (error) {
    // The end of the input that this process made itself.
    if (!isStopped) throw error;
  }
  const patience = new AbortController();
  const end = pause(DRAIN_MS, undefined, { signal: patience.signal }).then(stop, () => undefined);
  await relay.settled();
  patience.abort();
  await end;
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

function writeLine(line: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(`${line}\n`, (error) => {
      if (error === null || error === undefined) resolve();
      else reject(error);
    });
  });
}
