/** An owner of waiting calls, and how many places it may hold at a time. */
export interface PlaceOwner {
  readonly name: string;
  readonly share: number;
  /** Called when the place is taken: the call waits from now on. */
  readonly taken?: () => void;
}

/** At least one: a call without an owner would use the share of all others. */
export type PlaceOwners = readonly [PlaceOwner, ...PlaceOwner[]];

/** The right of one call to wait. */
export interface WaitingPlace {
  readonly leave: () => void;
}

/** Bounds the waiting calls of one kind in this process: all together, and those of each owner. */
export class WaitingPlaces {
  readonly #most: number;
  readonly #held = new Map<string, number>();
  #all = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Takes a place from the share of each owner, and from that owner of `oneOf` that has the most room. Returns `null` if all places
   * or the share of an owner are used up: the call is then answered without waiting.
   */
  take(each: PlaceOwners, oneOf: readonly PlaceOwner[] = []): WaitingPlace | null {
    const roomOf = ({ name, share }: PlaceOwner): number => share - this.#of(name);
    const [first, ...others] = oneOf;
    const roomiest =
      first && others.reduce((best, next) => (roomOf(next) > roomOf(best) ? next : best), first);
    const owners = roomiest === undefined ? each : [...each, roomiest];
    if (this.#all >= this.#most || owners.some((owner) => roomOf(owner) <= 0)) return null;
    this.#change(owners, 1);
    for (const { taken } of owners) taken?.();
    let isLeft = false;
    return {
      leave: () => {
        if (!isLeft) this.#change(owners, -1);
        isLeft = true;
      },
    };
  }

  #of(name: string): number {
    return this.#held.get(name) ?? 0;
  }

  #change(owners: readonly PlaceOwner[], by: number): void {
    this.#all += by;
    for (const { name } of owners) {
      const held = this.#of(name) + by;
      if (held === 0) this.#held.delete(name);
      else this.#held.set(name, held);
    }
  }
}
