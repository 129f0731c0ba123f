import { hash } from 'node:crypto';
import { Client, type ClientConfig } from 'pg';
import type { RandomSource, Timers } from '../../kernel/world.ts';
import type { Notice, NoticeListener, Notices } from '../port.ts';

/** Notices of this time are sent together: the server queues the transactions of all senders one behind the other. */
const GATHER_MS = 10;

/** Longest delay before the next connection: it doubles with each failure. Half of it is random. */
const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 30_000;

/** The server refuses a longer payload. */
const TOPIC_BYTES_MAX = 7_900;

const KEEP_ALIVE_MS = 30_000;

/** How long the end of a connection may take: a network that swallows everything never answers. */
const CLOSE_MS = 2_000;

export interface NotificationsOptions {
  readonly connection: ClientConfig;
  readonly schema: string;
  readonly random: RandomSource;
  readonly timers: Timers;
}

/**
 * Notices between the processes of one schema, by LISTEN and NOTIFY on a connection of their own. Every NOTIFY takes a lock
 * of the whole server until its commit, so it is never part of a transaction that writes records, and no caller waits for it.
 */
export class Notifications implements Notices {
  readonly #options: NotificationsOptions;
  readonly #channel: string;
  readonly #pending = new Map<string, number>();
  #listener: NoticeListener | null = null;
  /** The listening connection; `null` before it is open. */
  #client: Client | null = null;
  /** The connection that does not listen yet. */
  #next: Client | null = null;
  #opening: Promise<void> = Promise.resolve();
  #sending: Promise<void> = Promise.resolve();
  #closing: Promise<void> = Promise.resolve();
  #failures = 0;
  #gathers = false;
  #stopGathering: () => void = () => undefined;
  #stopRetry: () => void = () => undefined;

  constructor(options: NotificationsOptions) {
    this.#options = options;
    this.#channel = channelOf(options.schema);
  }

  listen(listener: NoticeListener): void {
    if (this.#listener !== null) throw new Error('the process listens already');
    this.#listener = listener;
    this.#opening = this.#open();
  }

  send({ topic, count }: Notice): void {
    // Until the connection is open, other processes find the change by their search.
    if (this.#client === null || Buffer.byteLength(topic) > TOPIC_BYTES_MAX) return;
    this.#pending.set(topic, (this.#pending.get(topic) ?? 0) + count);
    if (!this.#gathers) this.#flush(this.#client);
  }

  /** Sends the gathered notices, and ends the connection. */
  async close(): Promise<void> {
    this.#listener = null;
    this.#stopRetry();
    // A server that does not answer would keep the process for as long as a connection may take.
    this.#next?.connection.stream.destroy();
    await this.#opening;
    if (this.#client !== null && this.#pending.size > 0) this.#flush(this.#client);
    this.#stopGathering();
    await this.#sending;
    if (this.#client !== null) this.#leave(this.#client);
    await this.#closing;
  }

  async #open(): Promise<void> {
    const client = new Client(this.#options.connection);
    this.#next = client;
    const lost = () => this.#lost(client);
    client.on('error', lost);
    client.on('end', lost);
    client.on('notification', ({ processId, payload = '' }) => {
      const notice = noticeOf(payload);
      if (processId !== ownProcessOf(client) && notice !== null) this.#listener?.received(notice);
    });
    try {
      await client.connect();
      // A notice may be lost, so its commit need not wait for the disk.
      await client.query(`SET synchronous_commit = off; LISTEN ${this.#channel}`);
    } catch {
      this.#leave(client);
      this.#retryLater();
      return;
    } finally {
      this.#next = null;
    }
    if (this.#listener === null) {
      this.#leave(client);
      return;
    }
    this.#client = client;
    this.#failures = 0;
    this.#listener.mayHaveMissed();
  }

  #flush(client: Client): void {
    const payloads = [...this.#pending].map(([topic, count]) => `${count} ${topic}`);
    this.#pending.clear();
    const text = 'SELECT pg_notify($1, n.payload) FROM unnest($2::text[]) AS n (payload)';
    const sent = client.query(text, [this.#channel, payloads]).then(
      () => undefined,
      () => this.#lost(client),
    );
    this.#sending = Promise.all([this.#sending, sent]).then(() => undefined);
    this.#stopGathering();
    this.#gathers = true;
    this.#stopGathering = this.#options.timers.after(GATHER_MS, () => {
      this.#gathers = false;
      if (this.#client !== null && this.#pending.size > 0) this.#flush(this.#client);
    });
  }

  #lost(client: Client): void {
    if (this.#client !== client) return;
    this.#leave(client);
    this.#retryLater();
  }

  #leave(client: Client): void {
    if (this.#client === client) this.#client = null;
    this.#pending.clear();
    const cancel = this.#options.timers.after(CLOSE_MS, () => client.connection.stream.destroy());
    const ended = client
      .end()
      .catch(() => undefined)
      .finally(cancel);
    this.#closing = Promise.all([this.#closing, ended]).then(() => undefined);
  }

  #retryLater(): void {
    if (this.#listener === null) return;
    const { random, timers } = this.#options;
    const longestMs = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(this.#failures, 10));
    const [draw = 0] = random.bytes(1);
    this.#failures += 1;
    this.#stopRetry = timers.after(Math.ceil(longestMs * (0.5 + draw / 510)), () => {
      this.#opening = this.#open();
    });
  }
}

/**
 * All schemas of a database share its channels, whose names are short.
 * @testonly
 */
export function channelOf(schema: string): string {
  return `svc_${hash('sha256', schema, 'hex').slice(0, 32)}`;
}

export function notificationsConfig(connectionString: string, timeoutMs: number): ClientConfig {
  return {
    connectionString,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    fallback_application_name: 'svc',
  };
}

/** The driver knows the number of its server process, but its types do not. */
function ownProcessOf(client: Client): unknown {
  return 'processID' in client ? client.processID : undefined;
}

/** `null` for a payload that this release does not understand. */
function noticeOf(payload: string): Notice | null {
  const [, count, topic] = /^(\d{1,9}) (.+)$/s.exec(payload) ?? [];
  return count === undefined || topic === undefined ? null : { topic, count: Number(count) };
}
