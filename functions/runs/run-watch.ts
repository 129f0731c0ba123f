import { limits } from '../../contracts/generated/limits.ts';
import { WaitingCall } from '../kernel/waiting-call.ts';
import { type PlaceOwners, WaitingPlaces } from '../kernel/waiting-places.ts';
import type { World } from '../kernel/world.ts';
import type { Run } from './run.ts';

/** Time between two reads of a watched run: another instance may end it. */
const RECHECK_MS_MIN = 250;
const RECHECK_MS_MAX = 4_000;

/** The result of a read of the run. */
export interface WatchedRead<Value> {
  readonly value: Value;
  readonly done: boolean;
  /** The owners whose waiting places the call uses. */
  readonly owners: PlaceOwners;
  /** The time of the next scheduled change of the run: the next read comes no later. */
  readonly dueAt?: number | null;
}

export interface RunWatchRequest {
  readonly runId: string;
  readonly waitMs: number;
  /** Aborted when the caller no longer waits. */
  readonly signal: AbortSignal;
}

/** Lets calls wait for a change of a run. */
export class RunWatch {
  readonly #world: Pick<World, 'clock' | 'timers'>;
  readonly #watchers = new Map<string, Set<Watcher>>();
  readonly #places: WaitingPlaces;

  constructor(
    world: Pick<World, 'clock' | 'timers'>,
    places = new WaitingPlaces(limits.executionRunWaitingCallsMax),
  ) {
    this.#world = world;
    this.#places = places;
  }

  /** Wakes the calls that wait for this run, which this instance has changed. */
  notify(run: Run): void {
    for (const watcher of this.#watchers.get(run.id) ?? []) {
      watcher.changed = run;
      watcher.call?.lookAgain();
    }
  }

  /**
   * Reads until the answer is `done`, the time is over or the caller has left, and returns the last answer. Reads once
   * when no waiting place is free. `read` receives the run if this instance has changed it, which saves a query.
   */
  async until<Value>(
    { runId, waitMs, signal }: RunWatchRequest,
    read: (changed: Run | null) => Promise<WatchedRead<Value>>,
  ): Promise<Value> {
    const { clock, timers } = this.#world;
    const until = clock.now() + waitMs;
    // Before the first read, so that an end behind it is not missed.
    const watcher = this.#open(runId);
    try {
      let found = await read(null);
      if (found.done) return found.value;
      const place = this.#places.take(found.owners);
      const call = new WaitingCall(timers, until - clock.now(), signal, place);
      watcher.call = call;
      if (watcher.changed !== null) call.lookAgain();
      for (let recheckMs = RECHECK_MS_MIN; !found.done && !call.isOver; ) {
        const dueMs = (found.dueAt ?? 0) - clock.now();
        const pauseMs = dueMs > 0 ? Math.min(recheckMs, dueMs) : recheckMs;
        const stopRecheck = timers.after(pauseMs, () => call.lookAgain());
        await call.next().finally(stopRecheck);
        found = await read(watcher.changed);
        recheckMs = Math.min(2 * recheckMs, RECHECK_MS_MAX);
      }
      return found.value;
    } finally {
      watcher.call?.close();
      this.#close(runId, watcher);
    }
  }

  #open(runId: string): Watcher {
    const watchers = this.#watchers.get(runId) ?? new Set();
    this.#watchers.set(runId, watchers);
    const watcher: Watcher = { changed: null, call: null };
    watchers.add(watcher);
    return watcher;
  }

  #close(runId: string, watcher: Watcher): void {
    const watchers = this.#watchers.get(runId);
    watchers?.delete(watcher);
    if (watchers?.size === 0) this.#watchers.delete(runId);
  }
}

interface Watcher {
  /** The run, once this instance has changed it. */
  changed: Run | null;
  call: WaitingCall | null;
}
