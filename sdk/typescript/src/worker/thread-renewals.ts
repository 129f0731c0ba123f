import { Worker } from 'node:worker_threads';
import type { Credential } from '../options.ts';
import { WorkNotDoneError } from './errors.ts';
import type { WorkerSettings } from './options.ts';
import { type KeptLease, type LeaseListener, passOn, type Renewals } from './renewals.ts';
import type { Proof } from './renewer.ts';
import type { FromThread, ThreadData, ToThread } from './thread-messages.ts';

/** Beside this file, in the source as in what is built of it. */
const script = new URL(`./renewal-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

/** This side of the thread that renews the leases of one worker. It is made with the first lease, and anew if it dies. */
export class ThreadRenewals implements Renewals {
  readonly #settings: WorkerSettings;
  readonly #listeners = new Map<number, LeaseListener>();
  readonly #questions = new Map<number, (leftMs: number | null) => void>();
  #thread: Thread | null = null;
  #last = 0;

  constructor(settings: WorkerSettings) {
    this.#settings = settings;
  }

  async prepare(): Promise<void> {
    this.#thread ??= this.#begin();
    const { worker, ready } = this.#thread;
    worker.ref();
    await ready;
    if (this.#listeners.size === 0) worker.unref();
  }

  async keep(proof: Proof, leftMs: number, listener: LeaseListener): Promise<KeptLease> {
    const id = (this.#last += 1);
    const begun = this.#now();
    const thread = (this.#thread ??= this.#begin());
    thread.worker.ref();
    this.#listeners.set(id, listener);
    try {
      // A handler may block from its first step on, so everything is there before it begins.
      await Promise.all([thread.ready, this.#refresh(thread)]);
    } catch (error) {
      this.#drop(id);
      throw error;
    }
    post(thread, { kind: 'keep', id, proof, leftMs: leftMs - (this.#now() - begun) });
    return { leftMs: () => this.#leftMs(thread, id), drop: () => this.#drop(id) };
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    this.#thread = null;
    await thread?.worker.terminate();
  }

  #now(): number {
    return this.#settings.connection.world.now();
  }

  #begin(): Thread {
    const { connection, leaseMs, heartbeatMs } = this.#settings;
    const { baseUrl, apiKeyHeader, headers } = connection;
    const data: ThreadData = { baseUrl, apiKeyHeader, headers, leaseMs, everyMs: heartbeatMs };
    // What this process was started with, such as a test runner's flags, is not for the thread.
    const worker = new Worker(script, { workerData: data, execArgv: [] });
    const ready = new Promise<void>((resolve, reject) => {
      worker.on('message', (message: FromThread) => {
        if (message.kind === 'ready') resolve();
        else this.#hear(thread, message);
      });
      worker.on('exit', () => {
        reject(new WorkNotDoneError('The thread that renews leases ended.'));
        this.#ended(thread);
      });
    });
    ready.catch(() => undefined);
    worker.on('error', (error: unknown) =>
      this.#settings.tell({ level: 'error', message: 'the thread that renews leases failed', error }),
    );
    // What it is there for keeps the process alive, not that it is there.
    worker.unref();
    const thread: Thread = { worker, ready };
    return thread;
  }

  #hear(thread: Thread, message: Exclude<FromThread, { kind: 'ready' }>): void {
    if (message.kind === 'wanted') void this.#refresh(thread);
    else if (message.kind === 'left') {
      this.#questions.get(message.question)?.(message.leftMs);
      this.#questions.delete(message.question);
    } else passOn(this.#listeners.get(message.id), message);
  }

  /** What it renewed is renewed no more. */
  #ended(thread: Thread): void {
    if (this.#thread === thread) this.#thread = null;
    for (const answer of this.#questions.values()) answer(null);
    this.#questions.clear();
    for (const listener of this.#listeners.values()) listener.lost();
    this.#listeners.clear();
  }

  #leftMs(thread: Thread, id: number): Promise<number | null> {
    if (this.#thread !== thread) return Promise.resolve(null);
    const question = (this.#last += 1);
    return new Promise((resolve) => {
      this.#questions.set(question, resolve);
      post(thread, { kind: 'ask', id, question });
    });
  }

  #drop(id: number): void {
    this.#listeners.delete(id);
    if (this.#thread === null) return;
    post(this.#thread, { kind: 'drop', id });
    if (this.#listeners.size === 0) this.#thread.worker.unref();
  }

  /** Hands over credentials that are fresh; where they cannot be had, those that it has must do. */
  async #refresh(thread: Thread): Promise<void> {
    const { connection, tell } = this.#settings;
    try {
      const [apiKey, token] = await Promise.all([current(connection.apiKey), current(connection.token)]);
      post(thread, { kind: 'credentials', apiKey, token });
    } catch (error) {
      tell({ level: 'warning', message: 'no fresh credentials to renew leases with', error });
    }
  }
}

interface Thread {
  readonly worker: Worker;
  readonly ready: Promise<void>;
}

function post({ worker }: Thread, message: ToThread): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  worker.postMessage(message);
}

function current(credential: Credential | null): string | null | Promise<string> {
  return typeof credential === 'function' ? credential() : credential;
}
