import type { Worker } from 'node:worker_threads';
import type { Connection } from './connection.ts';

/** Commits between two looks at the log. */
const COMMITS_PER_LOOK = 16;
/** The thread copies once so many pages of the log are not in the file: the share of the pages at which the writer would. */
const COPIED_FROM_SHARE = 1 / 4;
/** So few pages the writer copies itself: only what is copied to the last page begins anew at the front of the log. */
const LAST_PAGES_MAX = 200;
/** Below this size of a log the copy is short, and a thread not worth its memory. */
const THREAD_FROM_PAGES = 2_000;
/** How many times as long a log may get before the writer copies it, where the thread does not keep up. */
export const BEHIND_MOST = 4;

/** The program of the thread, as text: a bundle is a set of files that names no thread of its own. */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads');
const { DatabaseSync } = require('node:sqlite');
const database = new DatabaseSync(workerData, { timeout: 0 });
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

interface Log {
  readonly log: number;
  readonly checkpointed: number;
}

/**
 * Copies the write-ahead log into the database file beside the work of the writer. The copy of a long log by the writer itself
 * would stop the event loop for tens of milliseconds. Nothing depends on it: a thread that fails leaves the copy to the writer.
 */
export class LogCopies {
  readonly #path: string;
  readonly #pages: number;
  #thread: Worker | 'none' | null = null;
  #copies = false;
  #commits = 0;

  /** `pages`: the length of the log at which the writer would copy it without a thread. */
  constructor(path: string, pages: number) {
    this.#path = path;
    this.#pages = pages;
    if (!hasThread(pages)) this.#thread = 'none';
  }

  /** To be called after each commit, outside a transaction. */
  committed(connection: Connection): void {
    this.#commits += 1;
    if (this.#thread === 'none' || this.#copies || this.#commits < COMMITS_PER_LOOK) return;
    this.#commits = 0;
    try {
      this.#look(connection);
    } catch {
      // A disk that is full or broken, or no memory for a thread: the commits that follow show what matters of it.
      this.#thread ??= 'none';
    }
  }

  #look(connection: Connection): void {
    const { log, checkpointed } = logOf(connection);
    const left = log - checkpointed;
    if (log >= this.#pages && left > 0 && left <= LAST_PAGES_MAX)
      connection.get('PRAGMA wal_checkpoint(PASSIVE)');
    else if (left >= this.#pages * COPIED_FROM_SHARE) this.#copy();
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
    this.#copies = true;
    this.#thread.postMessage('copy', []);
  }

  #start(): Worker {
    // Loaded with the first long log: most processes have none.
    const threads = process.getBuiltinModule('node:worker_threads');
    const thread = new threads.Worker(PROGRAM, {
      eval: true,
      workerData: this.#path,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
    });
    thread.unref();
    thread.on('message', () => {
      this.#copies = false;
    });
    // The writer copies the log from now on.
    const lost = (): void => {
      this.#thread = 'none';
    };
    thread.on('error', lost);
    thread.on('exit', lost);
    return thread;
  }
}

/** Whether a log of this many pages is copied by a thread. */
export function hasThread(pages: number): boolean {
  return pages >= THREAD_FROM_PAGES;
}

function logOf(connection: Connection): Log {
  return connection.get<Log>('PRAGMA wal_checkpoint(NOOP)') ?? { log: 0, checkpointed: 0 };
}
