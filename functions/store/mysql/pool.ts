import type { Clock, Timers } from '../../kernel/world.ts';
import { StoreError } from '../port.ts';
import type { Connection } from './connection.ts';
import { closedError } from './errors.ts';

export interface PoolOptions {
  readonly open: () => Promise<Connection>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly size: number;
  /** How long a call waits until a connection is free. */
  readonly waitMaxMs: number;
}

/** Shorter than the server's patience with a silent session. */
const idleMaxMs = 30_000;
/** A connection that was silent for longer is asked for a sign of life: a server or a firewall may have dropped it. */
const trustedMs = 1_000;

interface Idle {
  readonly connection: Connection;
  readonly since: number;
  readonly cancel: () => void;
}

interface Waiter {
  readonly resolve: (connection: Connection) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The connections of one instance. The driver's own pool leaves callers waiting for ever when the database cannot be
 * reached, and hands out connections that broke while they were idle; hence this one.
 */
export class Pool {
  readonly #options: PoolOptions;
  #idle: Idle[] = [];
  #waiting: Waiter[] = [];
  readonly #used = new Set<Connection>();
  #count = 0;
  /** Connections being opened in place of broken ones. Each goes to the first waiting call. */
  #replacing = 0;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Gives `work` a connection of its own; a transaction that is open when it throws is rolled back. */
  async run<R>(work: (connection: Connection) => Promise<R>): Promise<R> {
    const connection = await this.acquire();
    try {
      return await work(connection);
    } catch (error) {
      await connection.rollback();
      throw error;
    } finally {
      this.release(connection);
    }
  }

  /** A connection for one user, who returns it with `release`. */
  async acquire(): Promise<Connection> {
    const connection = await this.#next();
    this.#used.add(connection);
    return connection;
  }

  /** Connections that are in use are cut off. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const waiter of this.#waiting.splice(0)) waiter.reject(closedError());
    for (const connection of this.#used) connection.destroy();
    const idle = this.#idle.splice(0);
    for (const { cancel } of idle) cancel();
    await Promise.all(idle.map(({ connection }) => connection.end()));
  }

  async #next(): Promise<Connection> {
    for (;;) {
      if (this.#closed) throw closedError();
      const idle = this.#idle.pop();
      if (idle === undefined) break;
      idle.cancel();
      if (await this.#isAlive(idle)) return idle.connection;
      idle.connection.destroy();
      this.#count -= 1;
    }
    return this.#count < this.#options.size ? this.#open() : this.#wait();
  }

  async #isAlive({ connection, since }: Idle): Promise<boolean> {
    if (!connection.usable) return false;
    if (this.#options.clock.now() - since < trustedMs) return true;
    return connection.ping().then(
      () => true,
      () => false,
    );
  }

  async #open(): Promise<Connection> {
    this.#count += 1;
    try {
      return await this.#options.open();
    } catch (error) {
      this.#count -= 1;
      // Where one cannot connect now, the others need not wait to find out.
      for (const waiter of this.#waiting.splice(0)) waiter.reject(error);
      throw error;
    }
  }

  #wait(): Promise<Connection> {
    return new Promise<Connection>((resolve, reject) => {
      const cancel = this.#options.timers.after(this.#options.waitMaxMs, () => {
        this.#waiting = this.#waiting.filter((each) => each !== waiter);
        reject(new StoreError('contention', 'MySQL: all connections of this instance are busy'));
      });
      const waiter: Waiter = {
        resolve: (connection) => {
          cancel();
          resolve(connection);
        },
        reject: (error) => {
          cancel();
          reject(error);
        },
      };
      this.#waiting.push(waiter);
    });
  }

  release(connection: Connection): void {
    if (!this.#used.delete(connection)) return;
    if (this.#closed || !connection.usable) {
      this.#discard(connection);
      return;
    }
    this.#offer(connection);
  }

  /** Gives the connection to the call that has waited longest, else keeps it for the next call. */
  #offer(connection: Connection): void {
    const waiter = this.#waiting.shift();
    if (waiter !== undefined) {
      waiter.resolve(connection);
      return;
    }
    const idle: Idle = {
      connection,
      since: this.#options.clock.now(),
      cancel: this.#options.timers.after(idleMaxMs, () => {
        this.#idle = this.#idle.filter((each) => each !== idle);
        this.#count -= 1;
        void connection.end();
      }),
    };
    this.#idle.push(idle);
  }

  #discard(connection: Connection): void {
    this.#count -= 1;
    if (connection.usable) void connection.end();
    else connection.destroy();
    if (!this.#closed && this.#waiting.length > this.#replacing) void this.#replace();
  }

  /**
   * Opens a connection for no particular waiter: each waiter stays in line, because it may give up, or another
   * connection may become free first. A failure rejects all waiting calls.
   */
  async #replace(): Promise<void> {
    this.#replacing += 1;
    const connection = await this.#open().catch(() => undefined);
    this.#replacing -= 1;
    if (connection === undefined) return;
    if (this.#closed || !connection.usable) this.#discard(connection);
    else this.#offer(connection);
  }
}
