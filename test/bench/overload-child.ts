/**
 * Clients in a process of their own: `overload-child.ts ADDRESS LEASES`. Each message of the parent is one phase: a closed loop
 * over a number of connections, or an open loop of a number of requests a second. The child answers with what it counted.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { commitBody, DOCUMENTS, documentId, TENANT } from './workload.ts';

export interface Phase {
  readonly seconds: number;
  readonly connections: number;
  /** Requests a second of an open loop; `null` for a closed loop. */
  readonly perSecond: number | null;
}

/** The kinds of requests, in the words of the report. */
export type Kind = 'heartbeat' | 'read' | 'commit' | 'list';

export interface Count {
  /** When the request was due, in milliseconds since the phase began. */
  readonly dueMs: number;
  readonly kind: Kind;
  /** Status of the answer; 0 where none came, -1 where no connection was free for the request. */
  readonly status: number;
  /** From the moment when the request was due. */
  readonly tookMs: number;
}

export interface Lease {
  readonly leaseKey: string;
  readonly leaseToken: string;
  readonly workerId: string;
}

/** The kinds of 20 requests: the shares of an application with workers. */
const MIX: readonly Kind[] = [
  ...Array<Kind>(11).fill('read'),
  ...Array<Kind>(5).fill('commit'),
  ...Array<Kind>(2).fill('list'),
  ...Array<Kind>(2).fill('heartbeat'),
];
const ADDRESSES = 16;
const TICK_MS = 2;
const CHECK_MS = 250;
/** A client that gives up closes its connection. */
const PATIENCE_MS = 10_000;

const [address = '', leasesText = '[]'] = process.argv.slice(2);
const target = new URL(address);
const leases = JSON.parse(leasesText) as readonly Lease[];
let sent = 0;

function post(path: string, body: object): string {
  const text = JSON.stringify(body);
  return `POST ${path} HTTP/1.1\r\nHost: ${target.host}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
}

const tenant = `/canonical/tenants/${TENANT}`;
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: ${target.host}\r\n\r\n`;

const requestsOf: Readonly<Record<Kind, (number: number) => string>> = {
  heartbeat: (number) =>
    post('/execution/workers/leases/heartbeat', { ...leases[number % leases.length], ttlSeconds: 600 }),
  read: (number) => get(`${tenant}/documents/bench/${documentId(number % DOCUMENTS)}`),
  commit: () => post(`${tenant}/transactions`, commitBody()),
  list: () => get('/execution/runs?limit=50'),
};

/** One kept connection with one request under way. */
class Line {
  #socket: Socket | null = null;
  readonly #localAddress: string;
  #answered: (status: number) => void = () => {};
  #text = '';
  #askedAt = 0;
  isFree = true;

  constructor(localAddress: string) {
    this.#localAddress = localAddress;
  }

  ask(request: string): Promise<number> {
    this.isFree = false;
    this.#askedAt = performance.now();
    return new Promise((resolve) => {
      this.#answered = (status) => {
        this.isFree = true;
        this.#text = '';
        this.#answered = () => {};
        resolve(status);
      };
      this.#socket ??= this.#open();
      this.#socket.write(request);
    });
  }

  /** Opens the connection, so that no request waits for it. */
  async open(): Promise<void> {
    this.#socket ??= this.#open();
    if (this.#socket.connecting) await once(this.#socket, 'connect');
  }

  /** Gives up an answer that does not come. */
  check(now: number): void {
    if (!this.isFree && now - this.#askedAt > PATIENCE_MS) this.#socket?.destroy();
  }

  close(): void {
    this.#socket?.destroy();
  }

  #open(): Socket {
    const socket = connect({
      host: target.hostname,
      port: Number(target.port),
      localAddress: this.#localAddress,
      noDelay: true,
    });
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => this.#read(text));
    socket.on('error', () => {});
    socket.once('close', () => {
      if (this.#socket !== socket) return;
      this.#socket = null;
      this.#answered(0);
    });
    return socket;
  }

  #read(text: string): void {
    this.#text += text;
    const end = this.#text.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = this.#text.slice(0, end);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (this.#text.length < end + 4 + length) return;
    if (/\r\nconnection: close/i.test(head)) {
      this.#socket?.destroy();
      this.#socket = null;
    }
    this.#answered(Number(head.slice(9, 12)));
  }
}

const lines: Line[] = [];

function linesUpTo(count: number): Line[] {
  while (lines.length < count) lines.push(new Line(`127.0.3.${(lines.length % ADDRESSES) + 1}`));
  return lines.slice(0, count);
}

async function closed({ seconds, connections }: Phase): Promise<Count[]> {
  const counts: Count[] = [];
  const startedAt = performance.now();
  const until = startedAt + seconds * 1000;
  const client = async (line: Line) => {
    for (let at = performance.now(); at < until; at = performance.now()) {
      const kind = MIX[sent % MIX.length] ?? 'read';
      sent += 1;
      const status = await line.ask(requestsOf[kind](sent));
      counts.push({ dueMs: at - startedAt, kind, status, tookMs: performance.now() - at });
    }
  };
  await Promise.all(linesUpTo(connections).map(client));
  return counts;
}

async function open({ seconds, connections }: Phase, perSecond: number): Promise<Count[]> {
  const counts: Count[] = [];
  const all = linesUpTo(connections);
  // In front of a service stand proxies and clients that keep their connections.
  for (const line of all) await line.open();
  const free = [...all];
  const giveUp = setInterval(() => {
    const now = performance.now();
    for (const line of all) line.check(now);
  }, CHECK_MS);
  const startedAt = performance.now();
  const pending: Promise<void>[] = [];
  const ask = async (dueMs: number, line: Line, kind: Kind) => {
    const status = await line.ask(requestsOf[kind](sent));
    free.push(line);
    counts.push({ dueMs, kind, status, tookMs: performance.now() - startedAt - dueMs });
  };
  let due = 0;
  for (let elapsed = 0; elapsed < seconds * 1000; elapsed = performance.now() - startedAt) {
    for (; due < (elapsed / 1000) * perSecond; due++) {
      const kind = MIX[sent % MIX.length] ?? 'read';
      sent += 1;
      const dueMs = (due / perSecond) * 1000;
      const line = free.shift();
      if (line === undefined) counts.push({ dueMs, kind, status: -1, tookMs: 0 });
      else pending.push(ask(dueMs, line, kind));
    }
    await pause(TICK_MS);
  }
  await Promise.all(pending);
  clearInterval(giveUp);
  return counts;
}

process.on('message', (phase: Phase | 'end') => {
  if (phase === 'end') {
    for (const line of lines) line.close();
    process.disconnect();
    return;
  }
  const counted = phase.perSecond === null ? closed(phase) : open(phase, phase.perSecond);
  void counted.then((counts) => process.send?.(counts));
});
