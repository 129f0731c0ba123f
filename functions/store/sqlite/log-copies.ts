import { pathToFileURL } from 'node:url';
import type { Worker } from 'node:worker_threads';
import type { Connection } from './connection.ts';

/** The thread copies once this share of the pages, at which the writer copies the log, is not in the file. */
const COPIED_FROM_SHARE = 1 / 4;
/** The thread leaves a log beyond this share to the writer, which could not copy it while the thread works. */
const COPIED_TO_SHARE = 3 / 4;
/** The copy of a shorter log takes little time, and is not worth the memory of a thread. */
const THREAD_FROM_PAGES = 2_000;

/** The program of the thread, as text: a bundle is a set of files that names no thread of its own. */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads');
const { DatabaseSync } = require('node:sqlite');
const database = new DatabaseSync(new URL(workerData), { timeout: 0 });
database.exec('PRAGMA synchronous = FULL; PRAGMA cache_size = -256');
parentPort.on('message', (message) => {
  try {
    if (message === 'copy') database.exec('PRAGMA wal_checkpoint(PASSIVE)');
    else database.close();
  } catch {}
  parentPort.postMessage(message);
  if (message !== 'copy') parentPort.close();
});
`;

/**
 * Copies most of the write-ahead log into the database file while the writer works. The writer copies the rest when the
 * log has `pages` pages, and restarts the log: a copy of the whole log would stop the event loop for tens of
 * milliseconds. The thread is optional: without it, the writer copies everything.
 */
export class LogCopies {
  readonly #path: string;
  readonly #pages: number;
  #thread: Worker | 'none' | null = null;
  #isCopying = false;

  /** `pages`: the length of the log at which the writer copies it. */
  constructor(path: string, pages: number) {
    this.#path = path;
    this.#pages = pages;
    if (pages < THREAD_FROM_PAGES) this.#thread = 'none';
  }

  /** To be called after each commit, outside a transaction. It costs two microseconds. */
  committed(connection: Connection): void {
    if (this.#thread === 'none' || this.#isCopying) return;
    try {
      const { log, checkpointed } = logOf(connection);
      const isEarly = log <= this.#pages * COPIED_TO_SHARE;
      if (isEarly && log - checkpointed >= this.#pages * COPIED_FROM_SHARE) this.#copy();
    } catch {
      // There is no memory for a thread, or the disk is broken: later commits will report a broken disk.
      this.#thread ??= 'none';
    }
  }

  /** Ends the thread, whose connection would keep the log. */
  async close(): Promise<void> {
    const thread = this.#thread;
    this.#thread = 'none';
    if (thread === null || thread === 'none') return;
    const ended = new Promise<void>((resolve) => {
      thread.once('exit', () => resolve());
    });
    thread.ref();
    thread.postMessage('close', []);
    await ended;
  }

  #copy(): void {
    this.#thread ??= this.#start();
    if (this.#thread === 'none') return;
    this.#isCopying = true;
    this.#thread.postMessage('copy', []);
  }

  #start(): Worker {
    // Loaded with the first long log: most processes have none.
    const threads = process.getBuiltinModule('node:worker_threads');
    const file = pathToFileURL(this.#path);
    // A database that was moved away must not be created again.
    file.searchParams.set('mode', 'rw');
    const thread = new threads.Worker(PROGRAM, {
      eval: true,
      workerData: file.href,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
    });
    thread.on('message', () => {
      this.#isCopying = false;
    });
    const lost = (): void => {
      this.#thread = 'none';
    };
    thread.on('error', lost);
    thread.on('exit', lost);
    // Behind its listeners, which would hold the process again.
    thread.unref();
    return thread;
  }
}

interface Log {
  readonly log: number;
  readonly checkpointed: number;
}

function logOf(connection: Connection): Log {
  return connection.get<Log>('PRAGMA wal_checkpoint(NOOP)') ?? { log: 0, checkpointed: 0 };
}
