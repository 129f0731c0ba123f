import { Worker } from 'node:worker_threads';
import type { Credential } from '../options.ts';
import { WorkNotDoneError } from './errors.ts';
import type { WorkerSettings } from './options.ts';
import { type KeptLease, type LeaseListener, passOn, type Renewals } from './renewals.ts';
import type { Proof } from './renewer.ts';
import type { FromThread, ThreadData, ToThread } from './thread-messages.ts';

/** The script is beside this file, both in the source and in the build. */
const script = new URL(`./renewal-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

/** The worker's side of the renewal thread. It starts the thread for the first lease, and again if the thread dies. */
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
      // A handler may block at once, so the thread must be ready before it starts.
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
    // The thread must not inherit flags of this process, such as those of a test runner.
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
      this.#settings.log({ level: 'error', message: 'the thread that renews leases failed', error }),
    );
    // Only a held lease keeps the process alive, not the thread itself.
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

  /** The leases of a dead thread count as lost. */
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

  /** Sends fresh credentials to the thread. If that fails, the thread keeps its old ones. */
  async #refresh(thread: Thread): Promise<void> {
    const { connection, log } = this.#settings;
    try {
      const [apiKey, token] = await Promise.all([current(connection.apiKey), current(connection.token)]);
      post(thread, { kind: 'credentials', apiKey, token });
    } catch (error) {
      log({ level: 'warning', message: 'no fresh credentials to renew leases with', error });
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
