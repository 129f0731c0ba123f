/** Runs that one lane remembers. With more, the lane is incomplete, and callers search the store. */
const LANE_MAX = 4_096;

/** Empty lanes that are remembered: callers choose the ids. A forgotten lane is incomplete again. */
const EMPTY_LANES_MAX = 1_000;

/**
 * Ready runs by handler, in the order of their announcements. Only the store is authoritative: a caller leases a run
 * there first. A `complete` lane contains every ready run that this process can know of.
 */
export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  readonly #laneOf = new Map<string, Lane>();
  /** Empty lanes, the most recently used last. */
  readonly #empty = new Set<Lane>();

  /** Handlers with a lane. */
  get size(): number {
    return this.#lanes.size;
  }

  add(handlerId: string, runId: string): void {
    const lane = this.#lane(handlerId);
    if (lane.runs.size >= LANE_MAX) {
      lane.complete = false;
      return;
    }
    lane.runs.add(runId);
    this.#empty.delete(lane);
    this.#laneOf.set(runId, lane);
  }

  remove(runId: string): void {
    const lane = this.#laneOf.get(runId);
    if (lane === undefined) return;
    lane.runs.delete(runId);
    this.#laneOf.delete(runId);
    this.#keep(lane);
  }

  /** Takes the oldest run of the given lanes. */
  take(handlerIds: Iterable<string>): string | null {
    let first: string | undefined;
    for (const handlerId of handlerIds) {
      const [runId] = this.#lanes.get(handlerId)?.runs ?? [];
      if (runId !== undefined && (first === undefined || runId < first)) first = runId;
    }
    if (first === undefined) return null;
    this.remove(first);
    return first;
  }

  holdsAny(handlerIds: Iterable<string>): boolean {
    for (const handlerId of handlerIds) if ((this.#lanes.get(handlerId)?.runs.size ?? 0) > 0) return true;
    return false;
  }

  isComplete(handlerIds: Iterable<string>): boolean {
    for (const handlerId of handlerIds) {
      const lane = this.#lanes.get(handlerId);
      if (lane === undefined || !lane.complete) return false;
      this.#keep(lane);
    }
    return true;
  }

  setComplete(handlerId: string, complete: boolean): void {
    if (!complete && !this.#lanes.has(handlerId)) return;
    const lane = this.#lane(handlerId);
    lane.complete = complete;
    this.#keep(lane);
  }

  /** Marks every lane incomplete. */
  doubtAll(): void {
    for (const lane of this.#lanes.values()) {
      lane.complete = false;
      this.#keep(lane);
    }
  }

  #lane(handlerId: string): Lane {
    let lane = this.#lanes.get(handlerId);
    if (lane === undefined) {
      lane = { handlerId, runs: new Set(), complete: false };
      this.#lanes.set(handlerId, lane);
    }
    return lane;
  }

  /** Keeps an empty lane for its completeness, up to a limit. */
  #keep(lane: Lane): void {
    if (lane.runs.size > 0) return;
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
  readonly runs: Set<string>;
  complete: boolean;
}
