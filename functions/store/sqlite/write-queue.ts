import type { RandomSource, Timers } from '../../kernel/world.ts';
import { StoreError } from '../port.ts';
import type { Connection } from './connection.ts';
import { asStoreError, closedError, isBusy } from './errors.ts';
import type { LogCopies } from './log-copies.ts';

export interface WriteQueueOptions {
  readonly connection: Connection;
  readonly timers: Timers;
  readonly random: RandomSource;
  /** Whether waiting calls share one database transaction, each under a savepoint of its own. */
  readonly grouping: boolean;
  /** The queue calls `committed` after each commit. */
  readonly copies?: Pick<LogCopies, 'committed'>;
}

/** Calls in one database transaction at most, and characters written after which no further call joins. */
const groupCallsMax = 128;
const groupCharactersMax = 512 * 1024;

/** Another process holds the lock: how long until the next try, and how often (about 5 s in all). */
const busyDelayMs = { least: 2, spread: 16 };
const busyTriesMax = 250;

interface Job {
  /** Does the work and returns the function that answers the caller, to be called once the work is durable. */
  execute(connection: Connection): () => void;
  reject(error: unknown): void;
  /** Runs without company, after a group was lost. */
  alone: boolean;
  busyTries: number;
}

/**
 * The one writer. Calls wait here until the next turn of the event loop, then share one transaction: they share the
 * cost of the flush to disk, which limits the rate of small transactions. Every answer, also a refusal, follows that
 * flush, because it may depend on the writes of an earlier call of the group.
 */
export class WriteQueue {
  readonly #options: WriteQueueOptions;
  #jobs: Job[] = [];
  #scheduled = false;
  #closed = false;
  #idle: (() => void)[] = [];
  /** Whether a call was refused because the disk is short. The next measurement with enough space resets it. */
  ranFull = false;

  constructor(options: WriteQueueOptions) {
    this.#options = options;
  }

  run<R>(work: (connection: Connection) => R): Promise<R> {
    if (this.#closed) return Promise.reject(closedError());
    return new Promise<R>((resolve, reject) => {
      const execute = (connection: Connection): (() => void) => {
        const result = work(connection);
        return () => resolve(result);
      };
      const refuse = (error: unknown): void => {
        if (error instanceof StoreError && error.failure === 'full') this.ranFull = true;
        reject(error);
      };
      this.#jobs.push({ execute, reject: refuse, alone: false, busyTries: 0 });
      this.#schedule();
    });
  }

  /** Refuses further calls and resolves when those that wait are answered. */
  close(): Promise<void> {
    this.#closed = true;
    if (!this.#scheduled) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idle.push(resolve);
    });
  }

  /** One group each turn of the event loop, so that sockets and timers run in between. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    const waitMs = this.#drainOnce();
    if (waitMs > 0) {
      this.#options.timers.after(waitMs, () => this.#turn());
      return;
    }
    this.#scheduled = false;
    if (this.#jobs.length > 0) this.#schedule();
    else for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Runs one transaction; returns how long to wait before the next when the lock was not to be had. */
  #drainOnce(): number {
    const first = this.#jobs[0];
    if (first === undefined) return 0;
    const { connection } = this.#options;
    try {
      connection.run('BEGIN IMMEDIATE');
    } catch (error) {
      return this.#beginFailed(error);
    }
    const single = !this.#options.grouping || first.alone || this.#jobs.length === 1;
    const calls = single ? this.#runSingle() : this.#runGroup();
    if (calls !== undefined) this.#commit(calls);
    return 0;
  }

  #runSingle(): Call[] | undefined {
    const job = this.#jobs.shift();
    if (job === undefined) return undefined;
    try {
      return [{ job, answer: job.execute(this.#options.connection) }];
    } catch (error) {
      this.#options.connection.rollback();
      job.reject(asStoreError(error));
      return undefined;
    }
  }

  #runGroup(): Call[] | undefined {
    const { connection } = this.#options;
    const calls: Call[] = [];
    const writtenBefore = connection.written;
    while (calls.length < groupCallsMax && connection.written - writtenBefore < groupCharactersMax) {
      const job = this.#jobs[0];
      if (job === undefined || job.alone) break;
      this.#jobs.shift();
      try {
        calls.push({ job, answer: runMember(connection, job) });
      } catch (error) {
        if (!connection.isTransaction) {
          this.#groupLost(calls, job, error);
          return undefined;
        }
        calls.push({ job, answer: () => job.reject(asStoreError(error)) });
      }
    }
    return calls;
  }

  /** SQLite rolled everything back because of one call: that call fails, the others run again, each alone. */
  #groupLost(calls: readonly Call[], culprit: Job, error: unknown): void {
    culprit.reject(asStoreError(error));
    const others = calls.map((call) => call.job);
    for (const job of others) job.alone = true;
    this.#jobs.unshift(...others);
  }

  #commit(calls: readonly Call[]): void {
    const { connection } = this.#options;
    try {
      connection.run('COMMIT');
    } catch (error) {
      const failure = commitFailure(error);
      try {
        connection.rollback();
      } finally {
        for (const call of calls) call.job.reject(failure);
      }
      return;
    }
    for (const call of calls) call.answer();
    this.#options.copies?.committed(connection);
  }

  #beginFailed(error: unknown): number {
    const failure = asStoreError(error);
    const kept: Job[] = [];
    for (const job of this.#jobs) {
      job.busyTries += 1;
      if (isBusy(error) && job.busyTries < busyTriesMax) kept.push(job);
      else job.reject(failure);
    }
    this.#jobs = kept;
    if (kept.length === 0) return 0;
    const jitter = (this.#options.random.bytes(1)[0] ?? 0) / 256;
    return busyDelayMs.least + jitter * busyDelayMs.spread;
  }
}

interface Call {
  readonly job: Job;
  readonly answer: () => void;
}

function runMember(connection: Connection, job: Job): () => void {
  connection.run('SAVEPOINT member');
  try {
    const answer = job.execute(connection);
    connection.run('RELEASE member');
    return answer;
  } catch (error) {
    if (connection.isTransaction) {
      connection.run('ROLLBACK TO member');
      connection.run('RELEASE member');
    }
    throw error;
  }
}

/** Every error at the commit is a failure of the store. */
function commitFailure(error: unknown): StoreError {
  const failure = asStoreError(error);
  if (failure instanceof StoreError) return failure;
  return new StoreError('unavailable', 'the transaction could not be committed', { cause: error });
}
