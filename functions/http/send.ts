import type { IncomingMessage, ServerResponse } from 'node:http';
import { PieceCount } from '../kernel/byte-blocks.ts';
import { nextTurn } from '../kernel/turns.ts';
import type { Timers } from '../kernel/world.ts';
import type { AllowancePolicy, ByteAllowance } from './byte-allowance.ts';
import { Interruption } from './interruption.ts';
import { ByteStream, heldBlocks, type RawResponse, sliceBytes } from './message.ts';

/** Sends an answer on a Node response. */

// The rest of an unread body that the server discards, so that a sending client reads the answer instead of a reset.
const lingerBytesMax = 32 * 1024 * 1024;
const lingerMs = 2_000;
/**
 * Unread bytes that the process discards, over all connections. The engine collects its whole heap after each 32 MiB of them,
 * so callers that are refused and send on would stop everybody else.
 */
export const discardPolicy: AllowancePolicy = {
  burstBytes: 32 * 1024 * 1024,
  bytesPerSecond: 1024 * 1024,
};
// The system delivers at most this many bytes at once.
const discardedAtOnceBytes = 64 * 1024;
// The first pieces of an unread body are discarded at any size; further small ones cost a turn and a timer each.
const discardedPiecesFree = 256;
// Up to this size the rest of a body is discarded and the connection kept.
const keptRestBytesMax = 64 * 1024;
// Handed to the system in one turn of the event loop: less than a millisecond.
const turnBytes = 4 * sliceBytes;
// The server closes the connection of a client that reads none of an answer for this time.
const stallMs = 30_000;

export interface SendParts {
  readonly timers: Timers;
  /** The bytes of unread bodies that may be discarded, over all requests. */
  readonly discarded: ByteAllowance;
  /** Whether the client was asked to send its body. */
  readonly proceeded: boolean;
  /** Whether the rest of the body is not read: the connection stays open for a moment, so that the client sees the answer. */
  readonly isGivenUp: boolean;
  /** Aborted when the client has gone or the server abandons the request. */
  readonly signal: AbortSignal;
}

export async function send(
  request: IncomingMessage,
  response: ServerResponse,
  answer: RawResponse,
  parts: SendParts,
): Promise<void> {
  const hasBody = request.method !== 'HEAD' && answer.body !== null;
  const gone = response.destroyed || request.socket.destroyed;
  if (answer.body instanceof ByteStream && (gone || !hasBody)) answer.body.discard();
  if (gone) return;
  const fields = answer.headers.flat();
  const size = sizeOf(answer);
  if (size !== null) fields.push('Content-Length', `${size}`);
  const refusedToSend = expectsContinue(request) && !parts.proceeded;
  const close = answer.close || leavesTooMuch(request) || refusedToSend;
  // Node sends `Connection: close` then.
  if (close) response.shouldKeepAlive = false;
  // All at once: each call of `setHeader` costs a microsecond.
  response.writeHead(answer.status, fields);
  const lingers = close && !request.complete && !refusedToSend;
  if (lingers) response.flushHeaders();
  const body = hasBody ? inSlices(answer.body) : null;
  let rest: string | Uint8Array | null = null;
  if (body instanceof ByteStream) {
    if (!(await sendStream(response, body, parts))) return;
  } else if (!lingers) rest = body;
  else if (body !== null) response.write(body);
  if (lingers) await discardRest(request, parts);
  response.end(rest ?? undefined);
  await taken(response, parts.timers);
}

/** A large body as a stream of slices, so that a client that reads nothing is noticed. */
function inSlices(body: RawResponse['body']): RawResponse['body'] {
  return body instanceof Uint8Array && body.length > sliceBytes ? heldBlocks([body]) : body;
}

/**
 * Waits until the system has accepted the whole answer, and closes the connection of a client that reads none of it in
 * time.
 */
function taken(response: ServerResponse, timers: Timers): Promise<void> {
  if (response.writableFinished || response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const cancel = timers.after(stallMs, () => response.destroy());
    const done = (): void => {
      cancel();
      resolve();
    };
    response.once('finish', done);
    response.once('close', done);
  });
}

/** The Content-Length: none for a status without a body, and for a stream of unknown size. */
function sizeOf({ status, body }: RawResponse): number | null {
  if (status === 204 || status === 304) return null;
  return body instanceof ByteStream ? body.size : Buffer.byteLength(body ?? '');
}

/** Sends chunk by chunk, no faster than the client reads; `false` where the client did not get the whole. */
async function sendStream(
  response: ServerResponse,
  { open, size, cut }: ByteStream,
  { timers, signal }: SendParts,
): Promise<boolean> {
  const interruption = new Interruption();
  const leave = (): void => interruption.interrupt(new Error('the client has gone'));
  signal.addEventListener('abort', leave, { once: true });
  cut?.addEventListener('abort', leave, { once: true });
  response.once('close', leave);
  if (signal.aborted || cut?.aborted === true) leave();
  const chunks = open()[Symbol.asyncIterator]();
  const write = async (chunk: Uint8Array): Promise<boolean> =>
    response.write(chunk) || (await drained(response, timers, interruption));
  const complete = await pump(chunks, size, interruption, write).catch(() => false);
  signal.removeEventListener('abort', leave);
  cut?.removeEventListener('abort', leave);
  response.off('close', leave);
  if (complete) return true;
  // Only a cut connection shows the client that bytes are missing: the status line is sent.
  response.destroy();
  // Not awaited: a producer that waits for its own source must not hold the request.
  void chunks.return?.().catch(() => {});
  return false;
}

async function pump(
  chunks: AsyncIterator<Uint8Array>,
  size: number | null,
  interruption: Interruption,
  write: (chunk: Uint8Array) => Promise<boolean>,
): Promise<boolean> {
  let sent = 0;
  let sentInTurn = 0;
  for (;;) {
    const step = await interruption.wait(chunks.next());
    if (step.done === true) return size === null || sent === size;
    sent += step.value.length;
    if (size !== null && sent > size) return false;
    // A system with large buffers would accept some megabytes in one long turn. There is no pause after the last piece.
    if (sentInTurn >= turnBytes) {
      await nextTurn();
      sentInTurn = 0;
    }
    if (!(await write(step.value))) return false;
    sentInTurn += step.value.length;
  }
}

/** Whether the client read the written bytes in time. Rejects when the client has gone. */
async function drained(
  response: ServerResponse,
  timers: Timers,
  interruption: Interruption,
): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const cancel = timers.after(stallMs, () => resolve(false));
  const drain = (): void => resolve(true);
  response.once('drain', drain);
  try {
    return await interruption.wait(promise);
  } finally {
    cancel();
    response.off('drain', drain);
  }
}

function leavesTooMuch(request: IncomingMessage): boolean {
  if (request.complete) return false;
  const at = request.rawHeaders.findIndex(
    (name, index) => index % 2 === 0 && name.toLowerCase() === 'content-length',
  );
  const length = at < 0 ? Number.NaN : Number(request.rawHeaders[at + 1]);
  // True also if the length is not known.
  return !(length <= keptRestBytesMax);
}

/** Reads on without keeping anything, until the body ends or a bound is reached. */
function discardRest(
  request: IncomingMessage,
  { timers, discarded: allowance, isGivenUp }: Pick<SendParts, 'timers' | 'discarded' | 'isGivenUp'>,
): Promise<void> {
  return new Promise((resolve) => {
    const pieces = new PieceCount(discardedPiecesFree);
    let discarded = 0;
    let paid = 0;
    const cancel = timers.after(lingerMs, () => done());
    let cancelNext: (() => void) | null = null;
    // Chunk by chunk, each paid for in advance: the socket would otherwise deliver some 2 MiB in one turn of the event loop.
    const next = (): void => {
      request.pause();
      cancelNext?.();
      paid = discardedAtOnceBytes;
      cancelNext = timers.after(allowance.take(paid), () => request.resume());
    };
    // Bytes that did not arrive are freed for other connections.
    const settle = (bytes: number): void => {
      allowance.giveBack(paid - bytes);
      paid = 0;
    };
    const onData = (chunk: Uint8Array): void => {
      settle(chunk.length);
      discarded += chunk.length;
      if (discarded > lingerBytesMax) done();
      else if (pieces.passed(chunk.length)) next();
      else request.pause();
    };
    const done = (): void => {
      request.off('data', onData);
      request.pause();
      settle(0);
      cancelNext?.();
      cancel();
      resolve();
    };
    request.once('end', done);
    request.once('close', done);
    // A reader that stopped in the middle of the body still listens, and no data flows beside it.
    request.removeAllListeners('readable');
    if (isGivenUp) return;
    next();
    // A listener starts a request that was not paused before.
    request.on('data', onData);
  });
}

export function expectsContinue(request: IncomingMessage): boolean {
  return request.rawHeaders.some(
    (name, index) =>
      index % 2 === 0 &&
      name.toLowerCase() === 'expect' &&
      request.rawHeaders[index + 1]?.toLowerCase() === '100-continue',
  );
}
