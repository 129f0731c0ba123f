const KEY_WORDS = 4;
const WORD_DIGITS = 8;
/** Entries are stored in blocks that never move, so that growth neither copies them nor needs twice their memory. */
const BLOCK_ENTRIES = 4096;
const SLOTS_MIN = 1024;

/**
 * A hash table outside the heap for millions of 128-bit keys with a few 32-bit numbers each. An entry costs 16 bytes for its key and 5
 * to 11 for its slot. Keys are digests, so a part of the key serves as its hash.
 */
export class KeyTable {
  readonly #width: number;
  readonly #blocks: Uint32Array[] = [];
  /** Entry numbers from 1, at the slot of the key or after it; 0 in an empty slot. At least a quarter of the slots stays empty. */
  #slots = new Uint32Array(SLOTS_MIN);
  #size = 0;
  readonly #key = new Uint32Array(KEY_WORDS);

  /** `words`: the count of numbers in an entry. */
  constructor(words: number) {
    this.#width = KEY_WORDS + words;
  }

  get size(): number {
    return this.#size;
  }

  /** The entry of the key, 32 hexadecimal digits; `undefined` if the table has none. */
  find(key: string): number | undefined {
    const entry = this.#slots[this.#slotOf(key)] as number;
    return entry === 0 ? undefined : entry - 1;
  }

  /** The entry of the key. Creates one with zeros if the table has none. */
  take(key: string): number {
    let slot = this.#slotOf(key);
    const found = this.#slots[slot] as number;
    if (found !== 0) return found - 1;
    if ((this.#size + 1) * 4 > this.#slots.length * 3) {
      this.#grow();
      slot = this.#slotOf(key);
    }
    const entry = this.#size;
    if (entry % BLOCK_ENTRIES === 0) this.#blocks.push(new Uint32Array(BLOCK_ENTRIES * this.#width));
    this.#size += 1;
    this.#slots[slot] = this.#size;
    this.#blockOf(entry).set(this.#key, this.#startOf(entry));
    return entry;
  }

  get(entry: number, word: number): number {
    return this.#blockOf(entry)[this.#startOf(entry) + KEY_WORDS + word] as number;
  }

  set(entry: number, word: number, value: number): void {
    this.#blockOf(entry)[this.#startOf(entry) + KEY_WORDS + word] = value;
  }

  /** The slot of the key, or the empty slot for it. Stores the parsed key in `#key`. */
  #slotOf(key: string): number {
    for (let word = 0; word < KEY_WORDS; word++) {
      this.#key[word] = Number.parseInt(key.slice(word * WORD_DIGITS, (word + 1) * WORD_DIGITS), 16);
    }
    const last = this.#slots.length - 1;
    let slot = (this.#key[0] as number) & last;
    for (;;) {
      const entry = this.#slots[slot] as number;
      if (entry === 0 || this.#holds(entry - 1)) return slot;
      slot = (slot + 1) & last;
    }
  }

  #holds(entry: number): boolean {
    const block = this.#blockOf(entry);
    const start = this.#startOf(entry);
    for (let word = 0; word < KEY_WORDS; word++) if (block[start + word] !== this.#key[word]) return false;
    return true;
  }

  #grow(): void {
    const slots = new Uint32Array(this.#slots.length * 2);
    const last = slots.length - 1;
    for (let entry = 0; entry < this.#size; entry++) {
      let slot = (this.#blockOf(entry)[this.#startOf(entry)] as number) & last;
      while (slots[slot] !== 0) slot = (slot + 1) & last;
      slots[slot] = entry + 1;
    }
    this.#slots = slots;
  }

  #blockOf(entry: number): Uint32Array {
    return this.#blocks[Math.floor(entry / BLOCK_ENTRIES)] as Uint32Array;
  }

  #startOf(entry: number): number {
    return (entry % BLOCK_ENTRIES) * this.#width;
  }
}
