import type { RunOwner } from '../queue/port.ts';
import { mayHaveSlot } from './rules/slot-share.ts';

/** The share that a search for a run respects. */
export interface SlotClaim {
  mayTake(owner: RunOwner): boolean;
  /** Claims a slot for the run that the search is about to lease, in place of its earlier claim. */
  claim(owner: RunOwner): void;
  release(): void;
  /** Whether the search has released a claim: a run that was refused because of it may have the slot. */
  readonly gaveUp: boolean;
}

/** Counts the slots of a process by owner. Runs of the owner `null` use slots, and no share bounds them. */
export class SlotShares {
  readonly #slotsMax: number;
  readonly #othersWait: (owner: RunOwner) => boolean;
  readonly #held = new Map<RunOwner, number>();
  #used = 0;
  #hasRefused = false;

  /** `othersWait`: a ready run of another owner waits, as far as this process knows. */
  constructor(slotsMax: number, othersWait: (owner: RunOwner) => boolean) {
    this.#slotsMax = slotsMax;
    this.#othersWait = othersWait;
  }

  hold(owner: RunOwner): void {
    this.#used += 1;
    this.#held.set(owner, this.#heldBy(owner) + 1);
  }

  free(owner: RunOwner): void {
    this.#used -= 1;
    const held = this.#heldBy(owner) - 1;
    if (held === 0) this.#held.delete(owner);
    else this.#held.set(owner, held);
  }

  mayTake(owner: RunOwner): boolean {
    if (owner === null) return true;
    const slotsMax = this.#slotsMax;
    const free = slotsMax - this.#used;
    const held = this.#heldBy(owner);
    const may = mayHaveSlot({ slotsMax, free, held, othersWait: () => this.#othersWait(owner) });
    if (!may) this.#hasRefused = true;
    return may;
  }

  /** Whether a run was refused since the last call. */
  takeRefusal(): boolean {
    const had = this.#hasRefused;
    this.#hasRefused = false;
    return had;
  }

  newClaim(): SlotClaim {
    return new Claim(this);
  }

  #heldBy(owner: RunOwner): number {
    return this.#held.get(owner) ?? 0;
  }
}

/** The slot that one search has claimed; it counts as held until it is released. */
class Claim implements SlotClaim {
  readonly #shares: SlotShares;
  #claimed: { readonly owner: RunOwner } | null = null;
  gaveUp = false;

  constructor(shares: SlotShares) {
    this.#shares = shares;
  }

  mayTake(owner: RunOwner): boolean {
    const claimed = this.#claimed;
    if (claimed === null) return this.#shares.mayTake(owner);
    this.#shares.free(claimed.owner);
    const may = this.#shares.mayTake(owner);
    this.#shares.hold(claimed.owner);
    return may;
  }

  claim(owner: RunOwner): void {
    // A store may execute the rule that claims again.
    this.release();
    this.#shares.hold(owner);
    this.#claimed = { owner };
  }

  release(): void {
    if (this.#claimed === null) return;
    this.#shares.free(this.#claimed.owner);
    this.#claimed = null;
    this.gaveUp = true;
  }
}
