import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { PassThrough, type Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { CopyCounter } from './copy-counter.ts';

/** How a body comes: in pieces of 64 KiB, each byte an HTTP chunk, or each byte a TCP segment. */
export type Cut = 'whole' | 'chunks' | 'segments';

const PIECE = 64 * 1024;
const SPACE = 0x20;
/** More than any reader needs for a body of these tests. */
const TURNS = 2_000;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heldNow(): number {
  // A first collection lets finalizers run, which release more.
  collect();
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Runs the feed, whose reader must not see its end yet, and answers how many bytes the process holds for it. */
async function heldBy(feed: () => Promise<void>): Promise<number> {
  const before = heldNow();
  await feed();
  // The system has received all of it, and the reader takes some of it in each turn.
  for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
  return heldNow() - before;
}

/** The head fields of the body and what ends it; nothing but spaces comes before. */
function framing(cut: Cut, bytes: number): { readonly field: string; readonly end: string } {
  return cut === 'chunks'
    ? { field: 'Transfer-Encoding: chunked', end: '1\r\n \r\n0\r\n\r\n' }
    : { field: `Content-Length: ${bytes + 1}`, end: ' ' };
}

/** Writes all but the last byte of a body; stops where the reader has closed the connection. */
async function writeBody(socket: Socket, cut: Cut, bytes: number): Promise<void> {
  const write = (piece: string | Uint8Array) =>
    new Promise<void>((resolve) => {
      socket.once('close', resolve);
      socket.write(piece, () => {
        socket.off('close', resolve);
        resolve();
      });
    });
  if (cut === 'segments') {
    const one = Buffer.of(SPACE);
    for (let sent = 0; sent < bytes && !socket.destroyed; sent += 1) {
      await write(one);
      await nextTurn();
    }
    return;
  }
  const piece = cut === 'chunks' ? '1\r\n \r\n'.repeat(PIECE / 6) : Buffer.alloc(PIECE, SPACE);
  const each = cut === 'chunks' ? Math.floor(PIECE / 6) : PIECE;
  for (let left = bytes; left > 0 && !socket.destroyed; left -= each) {
    const size = Math.min(left, each);
    await write(typeof piece === 'string' ? piece.slice(0, size * 6) : piece.subarray(0, size));
    await nextTurn();
  }
}

/** The memory and work that a reader spends on a body. */
export interface Taken {
  /** Bytes that the process holds before the last one. */
  readonly held: number;
  /** The work with the bytes until the end, counted. */
  readonly work: number;
}

/** Measures the reader that `feed` feeds. */
async function taken(feed: () => Promise<number>): Promise<Taken> {
  const counter = new CopyCounter();
  try {
    return { held: await feed(), work: counter.work };
  } finally {
    counter.close();
  }
}

/** Sends a request whose body comes piece by piece, and returns the answer of the server. */
export function feedServer(...given: Parameters<typeof heldByServer>): Promise<Taken> {
  return taken(() => heldByServer(...given));
}

async function heldByServer(port: number, head: readonly string[], cut: Cut, bytes: number): Promise<number> {
  const socket = connect(port, '127.0.0.1').setNoDelay().resume();
  socket.on('error', () => {});
  await once(socket, 'connect');
  const { field, end } = framing(cut, bytes);
  // `once` would throw the error of a connection that the server resets.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(`${[...head, 'Host: 127.0.0.1', 'Connection: close', field].join('\r\n')}\r\n\r\n`);
  const held = await heldBy(() => writeBody(socket, cut, bytes));
  socket.write(end);
  await closed;
  return held;
}

/** Answers the request of a client piece by piece; what the client makes of the answer is its own affair. */
export function feedClient(...given: Parameters<typeof heldByClient>): Promise<Taken> {
  return taken(() => heldByClient(...given));
}

async function heldByClient(
  call: (address: string) => Promise<unknown>,
  cut: Cut,
  bytes: number,
): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const connected = once(server, 'connection') as Promise<[Socket]>;
  const settled = call(`http://127.0.0.1:${(server.address() as AddressInfo).port}`).catch(() => undefined);
  // A reader may end before it has connected; then there is nothing to feed.
  const opened = await Promise.race([connected, settled.then(() => null)]);
  if (opened === null) throw new Error('the reader asks for nothing');
  const [socket] = opened;
  socket.on('error', () => {});
  socket.setNoDelay();
  await once(socket, 'data');
  socket.resume();
  const { field, end } = framing(cut, bytes);
  socket.write(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n${field}\r\n\r\n`);
  const held = await heldBy(() => writeBody(socket, cut, bytes));
  socket.end(end);
  await settled;
  socket.destroy();
  server.close();
  return held;
}

/** Feeds a reader of a stream in this process, such as that of standard input. */
export function feedStream(...given: Parameters<typeof heldByStream>): Promise<Taken> {
  return taken(() => heldByStream(...given));
}

async function heldByStream(
  read: (stream: Readable) => Promise<unknown>,
  cut: Cut,
  bytes: number,
): Promise<number> {
  const stream = new PassThrough({ highWaterMark: 1 });
  const settled = read(stream).catch(() => undefined);
  const size = cut === 'whole' ? PIECE : 1;
  const held = await heldBy(async () => {
    for (let left = bytes; left > 0; left -= size)
      if (!stream.write(Buffer.alloc(Math.min(size, left), SPACE))) await once(stream, 'drain');
  });
  stream.end();
  await settled;
  return held;
}
