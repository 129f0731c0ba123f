import type { Readable } from 'node:stream';
import { isBlank, linesOf } from './lines.ts';
import { Output } from './output.ts';
import { Relay, type RelayOptions } from './relay.ts';

/** As many bytes as `Mcp:BodyBytesMax` can allow. */
const LINE_BYTES_MAX = 33_554_432;
/** Answers that the client has not taken. From there on its messages wait in the pipe. */
const OUTPUT_BYTES_MAX = 1_048_576;
/** How long requests may go on after the end of the input. */
const DRAIN_MS = 30_000;
/** How long the client may take to read the last answers, which are short. */
const STOP_MS = 2_000;

export interface ClientParts extends Pick<RelayOptions, 'post' | 'write' | 'log'> {
  readonly input: Readable;
  /** Resolves after the time, and rejects once the signal aborts. */
  readonly pause: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

/** `unread`: the client has not read its answers in time, so writes are still open. */
export type ClientEnd = 'answered' | 'unread';

/** Relays until the input ends or the signal comes, and then ends what is under way. */
export async function serveClient(parts: ClientParts, signal: AbortSignal): Promise<ClientEnd> {
  const { input, post, log, pause } = parts;
  const stopped = new AbortController();
  const isStopped = new Promise<void>((resolve) =>
    stopped.signal.addEventListener('abort', () => resolve(), { once: true }),
  );
  const stop = () => {
    stopped.abort();
    input.destroy();
    relay.stop();
  };
  const write = (line: string) =>
    parts.write(line).catch((error: unknown) => {
      // A client that reads no more has ended.
      stop();
      throw error;
    });
  const output = new Output({ write, bytesMax: OUTPUT_BYTES_MAX });
  const relay = new Relay({
    post,
    write: (line) => output.write(line),
    log,
    lineBytesMax: LINE_BYTES_MAX,
    atWorkMax: 16,
    callsMax: 12,
    waitingMax: 256,
    waitingBytesMax: 2 * LINE_BYTES_MAX,
  });
  signal.addEventListener('abort', stop, { once: true });

  try {
    await readLines();
  } catch (error) {
    // The end of the input that this process made itself.
    if (!stopped.signal.aborted) throw error;
  }
  return await drained();

  async function readLines(): Promise<void> {
    let hasWaited = false;
    for await (const line of linesOf(input, LINE_BYTES_MAX)) {
      if (stopped.signal.aborted) return;
      if (line === 'too-long' || !isBlank(line)) relay.take(line);
      if (!output.isFull) continue;
      if (!hasWaited) log('The client does not read its answers: further messages wait until it does.');
      hasWaited = true;
      await Promise.race([output.notFull(), isStopped]);
    }
  }

  async function drained(): Promise<ClientEnd> {
    const patience = new AbortController();
    const expire = async (): Promise<ClientEnd> => {
      await Promise.race([pause(DRAIN_MS, patience.signal), isStopped]);
      stop();
      await pause(STOP_MS, patience.signal);
      return 'unread';
    };
    try {
      return await Promise.race([finish(relay, output), expire()]);
    } finally {
      patience.abort();
    }
  }
}

async function finish(relay: Relay, output: Output): Promise<ClientEnd> {
  await relay.settled();
  await output.settled();
  return 'answered';
}
