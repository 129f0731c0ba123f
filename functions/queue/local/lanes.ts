import type { HeldBack, MayTake, ReadyRun, RunOwner } from '../port.ts';

/** The most runs that one lane remembers; the store alone knows further runs. */
const LANE_MAX = 4_096;

/** A full lane still takes the first runs of further owners, up to this number in all. */
const FULL_LANE_MAX = 2 * LANE_MAX;

/** Empty lanes that are remembered: callers choose the ids. A forgotten lane is incomplete again. */
const EMPTY_LANES_MAX = 1_000;

const any: MayTake = () => true;

const nothing: HeldBack = { owners: new Set(), isWhole: true };

/**
 * Ready runs by handler and owner, in the order of their announcements. Only the store is authoritative: a caller leases a
 * run there first. A `complete` lane contains every ready run that this process can know of, but for `missing` owners.
 */
export class ReadyRunLanes {
  readonly #lanes = new Map<string, Lane>();
  readonly #groupOf = new Map<string, Group>();
  /** Empty lanes, the most recently used last. */
  readonly #empty = new Set<Lane>();

  /** Handlers with a lane. */
  get size(): number {
    return this.#lanes.size;
  }

  add(handlerId: string, runId: string, owner: RunOwner = null): void {
    if (this.#groupOf.has(runId)) return;
    const lane = this.#lane(handlerId);
    const group = lane.groups.get(owner) ?? { lane, owner, runs: new Set() };
    if (lane.size >= (group.runs.size === 0 ? FULL_LANE_MAX : LANE_MAX)) {
      // The owners beyond the limit may be any number, so the lane does not remember them.
      if (group.runs.size === 0) lane.complete = false;
      else lane.missing.add(owner);
      return;
    }
    group.runs.add(runId);
    lane.groups.set(owner, group);
    lane.size += 1;
    this.#empty.delete(lane);
    this.#groupOf.set(runId, group);
  }

  remove(runId: string): void {
    const group = this.#groupOf.get(runId);
    if (group === undefined) return;
    const { lane, owner, runs } = group;
    runs.delete(runId);
    if (runs.size === 0) lane.groups.delete(owner);
    lane.size -= 1;
    this.#groupOf.delete(runId);
    this.#keep(lane);
  }

  /** Takes the oldest run of the given lanes and of owners that may have one. */
  take(handlerIds: Iterable<string>, mayTake = any): string | null {
    let first: string | undefined;
    for (const { owner, runs } of this.#groups(handlerIds)) {
      const [runId] = runs;
      if (runId !== undefined && (first === undefined || runId < first) && mayTake(owner)) first = runId;
    }
    if (first === undefined) return null;
    this.remove(first);
    return first;
  }

  holdsAny(handlerIds: Iterable<string>): boolean {
    for (const _ of this.#groups(handlerIds)) return true;
    return false;
  }

  /** Whether the lanes hold a run of another owner. */
  holdsOther(handlerIds: Iterable<string>, owner: RunOwner): boolean {
    for (const group of this.#groups(handlerIds)) if (group.owner !== owner) return true;
    return false;
  }

  /** Whether the lanes hold every run of the owners that may have one. */
  isComplete(handlerIds: Iterable<string>, mayTake = any): boolean {
    for (const handlerId of handlerIds) {
      const lane = this.#lanes.get(handlerId);
      if (lane === undefined || !lane.complete) return false;
      for (const owner of lane.missing) if (mayTake(owner)) return false;
      this.#keep(lane);
    }
    return true;
  }

  setComplete(handlerId: string, complete: boolean): void {
    this.#setComplete(handlerId, complete, nothing);
  }

  /** Adds the runs that a search found; `all` if the handler has no others, but for those that it held back. */
  learn(handlerId: string, runs: readonly ReadyRun[], all: boolean, heldBack = nothing): void {
    for (const { runId, owner } of runs) this.add(handlerId, runId, owner);
    if (!all && this.#isKnownToMiss(handlerId, runs)) return;
    this.#setComplete(handlerId, all, heldBack);
  }

  /** Marks every lane incomplete. */
  doubtAll(): void {
    for (const lane of this.#lanes.values()) {
      lane.complete = false;
      this.#keep(lane);
    }
  }

  /** Whether an earlier search saw the whole queue and held back runs of just these owners: then these runs are no news. */
  #isKnownToMiss(handlerId: string, runs: readonly ReadyRun[]): boolean {
    const lane = this.#lanes.get(handlerId);
    if (lane?.complete !== true || !lane.isWhole || runs.length === 0) return false;
    return runs.every(({ owner }) => lane.missing.has(owner));
  }

  #setComplete(handlerId: string, complete: boolean, { owners, isWhole }: HeldBack): void {
    if (!complete && !this.#lanes.has(handlerId)) return;
    const lane = this.#lane(handlerId);
    Object.assign(lane, { complete, missing: new Set(owners), isWhole });
    this.#keep(lane);
  }

  *#groups(handlerIds: Iterable<string>): Iterable<Group> {
    for (const handlerId of handlerIds) yield* this.#lanes.get(handlerId)?.groups.values() ?? [];
  }

  #lane(handlerId: string): Lane {
    let lane = this.#lanes.get(handlerId);
    if (lane === undefined) {
      lane = { handlerId, groups: new Map(), size: 0, complete: false, missing: new Set(), isWhole: true };
      this.#lanes.set(handlerId, lane);
    }
    return lane;
  }

  /** Keeps an empty lane for its completeness, up to a limit. */
  #keep(lane: Lane): void {
    if (lane.size > 0) return;
    this.#empty.delete(lane);
    if (!lane.complete) {
      this.#lanes.delete(lane.handlerId);
      return;
    }
    this.#empty.add(lane);
    if (this.#empty.size <= EMPTY_LANES_MAX) return;
    for (const oldest of this.#empty) {
      this.#empty.delete(oldest);
      this.#lanes.delete(oldest.handlerId);
      return;
    }
  }
}

interface Lane {
  readonly handlerId: string;
  readonly groups: Map<RunOwner, Group>;
  size: number;
  complete: boolean;
  /** Owners of whom the store may have ready runs that the lane lacks. */
  missing: Set<RunOwner>;
  /** Whether `missing` has them all: a search of a long queue sees a part of it. */
  isWhole: boolean;
}

/** The ready runs of one owner in one lane; never empty there. */
interface Group {
  readonly lane: Lane;
  readonly owner: RunOwner;
  readonly runs: Set<string>;
}
