import type { JsonValue } from '../../generated/models.ts';
import { type Entry, type EntryKind, isSettled } from './entries.ts';
import { Execution, type Operation } from './execution.ts';
import { ChangedKind } from './faults.ts';
import type { Journal } from './journal.ts';
import type { StepPort } from './ports.ts';

/** An operation of a handler, by its key in the journal. */
export interface ReplayedOperation {
  readonly key: string;
  readonly kind: string;
}

/** An operation whose kind is another one than that of its result. */
export interface ChangedOperation {
  readonly key: string;
  readonly was: string;
  readonly is: string;
}

interface Open extends ReplayedOperation {
  /** Its entry in the journal is open: the run is there. */
  readonly isKnown: boolean;
  readonly goOn: (value: JsonValue) => void;
}

/** Follows a handler by its journal. An operation without a result does nothing, and goes on only with a given value. */
export class ReplayExecution extends Execution {
  /** The run is at these. */
  readonly next: ReplayedOperation[] = [];
  /** Without a result, although the handler has not asked for all results. */
  readonly again: (ReplayedOperation & { readonly isStopped: boolean })[] = [];
  readonly valueless: ReplayedOperation[] = [];
  readonly changed: ChangedOperation[] = [];
  readonly #given: (key: string) => JsonValue | undefined;
  #open: Open[] = [];

  constructor(port: StepPort, journal: Journal, given: (key: string) => JsonValue | undefined) {
    super(port, journal);
    this.#given = given;
  }

  override async operate<T>(
    kind: EntryKind,
    name: string,
    perform: (its: Operation) => Promise<T>,
  ): Promise<T> {
    try {
      return await super.operate(kind, name, async (its) => perform(await this.#known(kind, its)));
    } catch (error) {
      if (!(error instanceof ChangedKind)) throw error;
      this.changed.push({ key: error.key, was: error.was, is: error.is });
      return unending();
    }
  }

  /** A changed kind stops its branch only, so that one replay finds more of them. */
  protected override halt(error: unknown): void {
    if (!(error instanceof ChangedKind)) super.halt(error);
  }

  /** The result of an operation that has none. It may come only with `goOn`. */
  missing(key: string, kind: string, isKnown = false): Promise<JsonValue> {
    return new Promise((resolve) => this.#open.push({ key, kind, isKnown, goOn: resolve }));
  }

  /** When nothing goes on by itself: whether the handler goes on with a given value. */
  goOn(): boolean {
    const isHere = this.unused().length === 0;
    const open = this.#open;
    this.#open = [];
    let hasGone = false;
    for (const { key, kind, isKnown, goOn } of open) {
      const value = this.#given(key);
      if (isHere || isKnown) this.next.push({ key, kind });
      else this.again.push({ key, kind, isStopped: value === undefined });
      if (value === undefined) continue;
      hasGone = true;
      goOn(value);
    }
    return hasGone;
  }

  /** The operation with its entry, or with one that holds a given value. */
  async #known(kind: EntryKind, its: Operation): Promise<Operation> {
    const { key, found } = its;
    if (found?.ref !== undefined && (await this.port.read(found.ref)) === null)
      return { ...its, found: this.#entry(kind, key, this.#valueOf(key, kind)) };
    // A step may have a result under an earlier name; its work comes to `missing` where it has none.
    const isLater = found === undefined && (kind === 'mark' || kind === 'step');
    if (isLater || (found !== undefined && isSettled(found))) return its;
    return { ...its, found: this.#entry(kind, key, await this.missing(key, kind, found !== undefined)) };
  }

  #valueOf(key: string, kind: string): JsonValue {
    const value = this.#given(key);
    if (value === undefined) this.valueless.push({ key, kind });
    return value ?? null;
  }

  #entry(kind: EntryKind, key: string, value: JsonValue): Entry {
    const v = kind === 'event' && value !== null ? { payload: value } : value;
    return { k: key, t: kind, v };
  }
}

/** For operations that stop their branch. */
export function unending<T>(): Promise<T> {
  return new Promise(() => undefined);
}
