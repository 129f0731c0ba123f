/** Runs remembered of one handler. Beyond them the lane only knows that there are more, and the store is asked. */
const LANE_MAX = 4_096;

/**
 * Runs that are ready, by handler, in the order in which they were told. A memory, not the truth: whoever takes one leases it
 * in the store first. `complete` says of a lane that every ready run that this process knows a way to hear of is in it.
 */
export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  readonly #laneOf = new Map<string, Lane>();

  add(handlerId: string, runId: string): void {
    const lane = this.#lane(handlerId);
    if (lane.runs.size >= LANE_MAX) {
      lane.complete = false;
      return;
    }
    lane.runs.add(runId);
    this.#laneOf.set(runId, lane);
  }

  remove(runId: string): void {
    const lane = this.#laneOf.get(runId);
    if (lane === undefined) return;
    lane.runs.delete(runId);
    this.#laneOf.delete(runId);
  }

  /** The run that waited longest in any of the lanes. */
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
    for (const handlerId of handlerIds) if (!this.#lane(handlerId).complete) return false;
    return true;
  }

  setComplete(handlerId: string, complete: boolean): void {
    this.#lane(handlerId).complete = complete;
  }

  /** Nothing is known for sure any more. */
  doubtAll(): void {
    for (const lane of this.#lanes.values()) lane.complete = false;
  }

  #lane(handlerId: string): Lane {
    let lane = this.#lanes.get(handlerId);
    if (lane === undefined) {
      lane = { runs: new Set(), complete: false };
      this.#lanes.set(handlerId, lane);
    }
    return lane;
  }
}

interface Lane {
  readonly runs: Set<string>;
  complete: boolean;
}
