import { ServiceError } from '../kernel/errors.ts';
import type { Timers } from '../kernel/world.ts';
import type { ReadCall } from './read-call.ts';

/** Records that a call may read without a place; most calls need no more. */
const FREE_RECORDS = 1_000;
const FREE_CHARACTERS = 4 * 1024 * 1024;
/** Long reads of the process at once; a space has a third of them. */
const LONG_READS_DEFAULT = 6;
const SPACES_SHARE = 3;
/** The most waiting calls of a space. */
const WAITING_MAX = 16;
/** The longest wait for a place: as long as the store may take for one read, and less than clients wait. */
const WAIT_MS = 20_000;

type Waiting = (place: () => void) => void;

export interface ReadLanesOptions {
  readonly timers?: Timers;
  readonly longReadsMax?: number | undefined;
}

/**
 * Places for long reads. A call takes a place once it has read more than the free number of records. If no place is left, the call
 * gives up its moment and its database connection, and begins again when it has a place. So one space leaves time, memory and
 * connections to the others.
 */
export class ReadLanes {
  readonly #timers: Timers | undefined;
  readonly #processMax: number;
  readonly #spaceMax: number;
  readonly #running = new Map<string, number>();
  /** The spaces in the order of their turns. */
  readonly #waiting = new Map<string, Waiting[]>();
  #all = 0;

  constructor({ timers, longReadsMax = LONG_READS_DEFAULT }: ReadLanesOptions = {}) {
    this.#timers = timers;
    this.#processMax = longReadsMax;
    this.#spaceMax = Math.ceil(longReadsMax / SPACES_SHARE);
  }

  /** Runs a call that reads. `read` throws what `lane.passed` throws. */
  async run<R>(space: string, read: (lane: ReadLane) => Promise<R>, { signal }: ReadCall = {}): Promise<R> {
    const lane = new ReadLane(() => this.#enter(space), signal);
    try {
      return await read(lane);
    } catch (error) {
      if (!(error instanceof LaneBusy)) throw error;
    } finally {
      lane.leave();
    }
    const place = await this.#turn(space, signal);
    try {
      return await read(new ReadLane(() => () => undefined, signal));
    } finally {
      place();
    }
  }

  /** `null`: all places are taken. */
  #enter(space: string): (() => void) | null {
    const running = this.#running.get(space) ?? 0;
    if (running >= this.#spaceMax || this.#all >= this.#processMax) return null;
    this.#running.set(space, running + 1);
    this.#all += 1;
    return () => this.#leave(space);
  }

  #leave(space: string): void {
    const running = this.#running.get(space) ?? 0;
    if (running > 1) this.#running.set(space, running - 1);
    else this.#running.delete(space);
    this.#all -= 1;
    this.#admit();
  }

  /** Admits the next call of each space in turn while there are places. A space whose call enters moves to the end. */
  #admit(): void {
    for (const [space, calls] of this.#waiting) {
      const place = this.#enter(space);
      if (place === null) continue;
      const [next, ...others] = calls;
      this.#waiting.delete(space);
      if (others.length > 0) this.#waiting.set(space, others);
      next?.(place);
    }
  }

  /** Waits for a place, but no longer than the client waits. */
  async #turn(space: string, signal: AbortSignal | undefined): Promise<() => void> {
    signal?.throwIfAborted();
    const calls = this.#waiting.get(space) ?? [];
    if (calls.length >= WAITING_MAX) throw tooManyReads();
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const giveUp = (error: unknown): void => {
      this.#leaveLine(space, resolve);
      reject(error);
    };
    const onAbort = (): void => giveUp(signal?.reason);
    this.#waiting.set(space, [...calls, resolve]);
    signal?.addEventListener('abort', onAbort);
    const cancel = this.#timers?.after(WAIT_MS, () => giveUp(waitedTooLong()));
    this.#admit();
    try {
      return await promise;
    } finally {
      cancel?.();
      signal?.removeEventListener('abort', onAbort);
    }
  }

  #leaveLine(space: string, call: Waiting): void {
    const others = (this.#waiting.get(space) ?? []).filter((each) => each !== call);
    if (others.length > 0) this.#waiting.set(space, others);
    else this.#waiting.delete(space);
  }
}

/** The place of one call. */
export class ReadLane {
  readonly #enter: () => (() => void) | null;
  readonly #signal: AbortSignal | undefined;
  #leave: (() => void) | null = null;
  #records = 0;
  #characters = 0;

  constructor(enter: () => (() => void) | null, signal: AbortSignal | undefined) {
    this.#enter = enter;
    this.#signal = signal;
  }

  /** Throws if the client has disconnected. */
  checkClient(): void {
    this.#signal?.throwIfAborted();
  }

  /** Counts the reads of the call. Throws if it needs a place and none is left, and if the client has disconnected. */
  passed(records: number, characters: number): void {
    this.checkClient();
    this.#records += records;
    this.#characters += characters;
    if (this.#leave !== null || (this.#records <= FREE_RECORDS && this.#characters <= FREE_CHARACTERS))
      return;
    this.#leave = this.#enter();
    if (this.#leave === null) throw new LaneBusy();
  }

  /** Takes a place before the first read, for a call that is always long. Throws as `passed` does. */
  take(): void {
    this.passed(FREE_RECORDS + 1, 0);
  }

  leave(): void {
    this.#leave?.();
    this.#leave = null;
  }
}

/** Ends the moment of a call that must wait; no caller sees it. */
class LaneBusy extends Error {}

function tooManyReads(): ServiceError {
  const detail = 'Too many calls of the space read many records at the moment. Send fewer of them at a time.';
  return new ServiceError('rate_limited', detail, { retryAfterSeconds: 1 });
}

function waitedTooLong(): ServiceError {
  const detail =
    'The call waited too long for other calls that read many records. Nothing was read. Try again.';
  return new ServiceError('unavailable', detail, { retryAfterSeconds: 5 });
}
