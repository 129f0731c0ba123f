import type { JsonValue } from '../../generated/models.ts';
import { WorkStopped } from '../errors.ts';
import { Branch, branchHere } from './branches.ts';
import { type Entry, type EntryKind, entryError, isError, isSettled, noEntry } from './entries.ts';
import { AmbiguousName, ChangedCode, Stop } from './faults.ts';
import type { Journal } from './journal.ts';
import { Occurrences } from './names.ts';
import type { StepPort } from './ports.ts';
import { Scheduler } from './scheduler.ts';
import { JournalWriter } from './writer.ts';

/** One operation of the handler: its key, its entry, and the branch that called it. */
export interface Operation {
  readonly key: string;
  readonly found: Entry | undefined;
  readonly branch: Branch;
}

/** One execution of a handler with steps. */
export class Execution {
  readonly port: StepPort;
  readonly journal: Journal;
  readonly writer: JournalWriter;
  readonly scheduler: Scheduler;
  readonly root = new Branch();
  /** How to undo the steps that have a result, by their keys. */
  readonly undos = new Map<string, (branch: Branch) => Promise<void>>();
  /** Rejects when the execution cannot go on, even if the handler catches the error. */
  readonly halted: Promise<never>;
  readonly #names = new Occurrences();
  readonly #used = new Set<string>(['@', '@ending']);
  readonly #closed = new AbortController();
  #halt: (error: unknown) => void = () => undefined;
  /** Where the run has begun to undo: how it ends. */
  #ending: Stop | null;
  /** The run is leased to undo its work. */
  readonly isCancelled: boolean;
  /** Keys without an entry before this execution. */
  readonly fresh = new Set<string>();

  constructor(port: StepPort, journal: Journal) {
    this.port = port;
    this.journal = journal;
    this.writer = new JournalWriter(journal, port);
    this.scheduler = new Scheduler(port, this.writer);
    this.isCancelled = port.run.cancellationRequested;
    this.#ending = endingOf(journal) ?? (this.isCancelled ? new Stop('The run was cancelled.') : null);
    this.halted = new Promise((_, reject) => {
      this.#halt = (error) => {
        reject(error);
        this.scheduler.stop(error);
      };
    });
    this.halted.catch(() => undefined);
    for (const signal of [port.signal, port.over ?? port.signal]) {
      const stopped = () => {
        // A handler may still end its work in a run that is to be cancelled.
        const isCancellation = isCancelling(signal.reason);
        if (!(isCancellation && this.isCancelled)) this.root.end(signal.reason);
        if (!isCancellation) this.#halt(signal.reason);
      };
      if (signal.aborted) stopped();
      else signal.addEventListener('abort', stopped, { signal: this.#closed.signal });
    }
  }

  /** The port may outlast the execution. */
  close(): void {
    this.root.end();
    this.#closed.abort();
  }

  get ending(): Stop | null {
    return this.#ending;
  }

  /** Performs an operation. The key is counted at once, so that calls count in their order. */
  async operate<T>(kind: EntryKind, name: string, perform: (its: Operation) => Promise<T>): Promise<T> {
    try {
      const its = this.enter(kind, name);
      const { branch, found } = its;
      branch.signal.throwIfAborted();
      if (this.#ending !== null && !isSettled(found)) throw this.#ending;
      branch.open.begun();
      try {
        return await perform(its);
      } finally {
        branch.open.ended();
      }
    } catch (error) {
      if (isHalting(error)) this.halt(error);
      throw error;
    }
  }

  /** The attempt ends with the error, even if the handler catches it. */
  protected halt(error: unknown): void {
    this.#halt(error);
  }

  /** Counts a call. An operation whose result another system keeps has no entry, and so no kind of one. */
  enter(kind: EntryKind | 'commit', name: string): Operation {
    const branch = branchHere(this.root);
    try {
      const key = this.#names.next(name, branch.caller);
      const found = this.journal.find(key, kind);
      this.#used.add(key);
      if (found === undefined) this.fresh.add(key);
      return { key, found, branch };
    } catch (error) {
      if (isHalting(error)) this.halt(error);
      throw error;
    }
  }

  /** The value of a settled entry without an error. */
  async valueOf(entry: Entry): Promise<JsonValue> {
    if (entry.ref === undefined) return structuredClone(entry.v ?? null);
    const value = await this.port.read(entry.ref);
    if (value === null) throw new ChangedCode(`The value of "${entry.k}" is missing`);
    return value;
  }

  /** A value that the journal keeps from its first call on. */
  mark(name: string, value: () => JsonValue): Promise<JsonValue> {
    return this.operate('mark', name, async ({ key, found }) => {
      if (found !== undefined) return this.valueOf(found);
      return this.scheduler.work(async () => {
        const v = value();
        await this.writer.put({ k: key, t: 'mark', v, at: this.now() });
        return v;
      });
    });
  }

  /** The name of an operation for other systems, the same in each execution. */
  serverKey(key: string): string {
    return `${this.port.run.id}/${key}`;
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.port.clock.after(ms, resolve));
  }

  /** Whole milliseconds. */
  now(): number {
    return Math.round(this.port.clock.now());
  }

  /** From now on the run only undoes: other branches begin nothing, and their steps that work come to their end. */
  async end(error: Stop): Promise<void> {
    const isKnown = this.journal.find('@ending', 'mark') !== undefined;
    this.#ending ??= error;
    this.scheduler.drop(error);
    const { failureClass } = error;
    const v = {
      ...entryError(error),
      ...(failureClass === ENDING_CLASS ? {} : { code: failureClass.slice(0, 100) }),
    };
    const put = () => this.writer.put({ k: '@ending', t: 'mark', v, at: this.now() });
    if (!isKnown) await this.scheduler.work(put);
    await this.scheduler.idle();
  }

  /** Keys of the handler that it has not asked for in this execution. */
  unused(): string[] {
    return this.journal.allKeys().filter((key) => !this.#used.has(key) && !key.startsWith('@'));
  }

  use(key: string): void {
    this.#used.add(key);
  }
}

/** The failure class of an ending whose entry names none. */
const ENDING_CLASS = 'validation';

function endingOf(journal: Journal): Stop | null {
  const found = journal.find('@ending', 'mark');
  if (found === undefined) return null;
  const { v: kept } = found;
  if (!isError(kept)) throw noEntry();
  return new Stop(kept.message, { failureClass: kept.code ?? ENDING_CLASS, cause: kept });
}

/** Whether the run is to be cancelled, and not lost. */
function isCancelling(reason: unknown): boolean {
  return reason instanceof WorkStopped && reason.kind === 'cancelled';
}

/** Errors that a handler cannot handle. */
function isHalting(error: unknown): boolean {
  return error instanceof ChangedCode || error instanceof AmbiguousName;
}
