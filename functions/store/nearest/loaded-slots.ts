import type { Clock } from '../../kernel/world.ts';
import { Arena, type Block } from './arena.ts';
import { LoadedSlot } from './loaded-slot.ts';
import { Matrix, type MatrixMemory } from './matrix.ts';
import type { VectorSlotState } from './vector-rows.ts';

type SlotId = VectorSlotState['slot'];

/** An owner above this part of the memory does not evict matrices that other owners use. */
const SHARE = 2;
/** The time without a search after which a matrix counts as unused. */
const IDLE_MS = 60_000;

interface Held {
  readonly slot: LoadedSlot;
  readonly owner: string;
  bytes: number;
  usedAt: number;
}

/** The matrices that are in memory, the least recently used first. */
export class LoadedSlots {
  readonly #arena: Arena;
  readonly #bytesMax: number;
  readonly #clock: Clock;
  readonly #slots = new Map<SlotId, Held>();
  /** Bytes by owner. */
  readonly #bytes = new Map<string, number>();

  constructor(bytesMax: number, clock: Clock) {
    this.#arena = new Arena(bytesMax);
    this.#bytesMax = bytesMax;
    this.#clock = clock;
  }

  get bytes(): number {
    return this.#arena.used;
  }

  /** Lends the matrix of a slot, or a new one. It stays in memory until it is unpinned. */
  pin(id: SlotId, owner: string, dimensions: number): LoadedSlot {
    const held = this.#slots.get(id) ?? this.#begun(owner, dimensions);
    this.#slots.delete(id);
    this.#slots.set(id, held);
    held.usedAt = this.#clock.now();
    held.slot.pins += 1;
    return held.slot;
  }

  unpin(slot: LoadedSlot): void {
    slot.pins -= 1;
    if (slot.isDropped && slot.pins === 0) slot.matrix.release();
  }

  /** Whether all rows of the slot were read at some moment. */
  has(id: SlotId): boolean {
    return this.#slots.get(id)?.slot.wasLoaded ?? false;
  }

  /** Whether the owner may free the given bytes for a matrix. Called before rows are read in vain. */
  hasRoomFor(id: SlotId, owner: string, bytes: number): boolean {
    const before = this.#slots.get(id)?.bytes ?? 0;
    const isLarge = this.#isLarge(owner, bytes - before);
    let kept = 0;
    for (const [each, held] of this.#slots) {
      if (each !== id && !this.#isEvictable(held, owner, isLarge)) kept += held.bytes;
    }
    return kept + bytes <= this.#bytesMax;
  }

  /** The next search starts a new matrix; searches that use this one finish with it. */
  drop(id: SlotId, slot: LoadedSlot): void {
    if (this.#slots.get(id)?.slot === slot) this.#slots.delete(id);
    if (slot.isDropped) return;
    slot.isDropped = true;
    if (slot.pins === 0) slot.matrix.release();
  }

  #begun(owner: string, dimensions: number): Held {
    const count = (bytes: number) => {
      held.bytes += bytes;
      const all = (this.#bytes.get(owner) ?? 0) + bytes;
      if (all === 0) this.#bytes.delete(owner);
      else this.#bytes.set(owner, all);
    };
    const room: MatrixMemory = {
      take: (bytes) => {
        const block = this.#take(owner, bytes);
        if (block !== null) count(bytes);
        return block;
      },
      give: (block) => {
        this.#arena.give(block);
        count(-block.bytes);
      },
      charge: (bytes) => {
        const isCharged = this.#charge(owner, bytes);
        if (isCharged) count(bytes);
        return isCharged;
      },
      refund: (bytes) => {
        this.#arena.refund(bytes);
        count(-bytes);
      },
    };
    const held: Held = { slot: new LoadedSlot(new Matrix(dimensions, room)), owner, bytes: 0, usedAt: 0 };
    return held;
  }

  #take(owner: string, bytes: number): Block | null {
    for (;;) {
      const block = this.#arena.take(bytes);
      if (block !== null || !this.#evictOne(owner, bytes)) return block;
    }
  }

  #charge(owner: string, bytes: number): boolean {
    for (;;) {
      if (this.#arena.charge(bytes)) return true;
      if (!this.#evictOne(owner, bytes)) return false;
    }
  }

  /** Evicts slots of owners above their share first. */
  #evictOne(owner: string, bytes: number): boolean {
    const isLarge = this.#isLarge(owner, bytes);
    let found: [SlotId, Held] | undefined;
    for (const each of this.#slots) {
      const [, held] = each;
      if (!this.#isEvictable(held, owner, isLarge)) continue;
      found ??= each;
      if (!this.#isLarge(held.owner, 0)) continue;
      found = each;
      break;
    }
    if (found === undefined) return false;
    const [id, { slot }] = found;
    this.drop(id, slot);
    return true;
  }

  /** Whether the owner would exceed its share with the additional bytes. */
  #isLarge(owner: string, more: number): boolean {
    return (this.#bytes.get(owner) ?? 0) + more > this.#bytesMax / SHARE;
  }

  #isEvictable(held: Held, owner: string, isLarge: boolean): boolean {
    if (held.slot.pins > 0) return false;
    return !isLarge || held.owner === owner || this.#clock.now() - held.usedAt >= IDLE_MS;
  }
}
