const KEY_WORDS = 4;
const WORD_DIGITS = 8;
/** Entries come in blocks that never move: growth neither copies them nor needs room for them twice. */
const BLOCK_ENTRIES = 4096;
const SLOTS_MIN = 1024;

/**
 * A few 32-bit numbers under each 128-bit key, for millions of keys: outside the heap, and beyond the numbers themselves
 * 16 bytes an entry for its key and 5 to 11 for finding it. Keys are digests already, so that a part of one is its place.
 */
export class KeyTable {
  readonly #width: number;
  readonly #blocks: Uint32Array[] = [];
  /** Entries by the key's place or behind it, counted from 1; 0 where none is. At least a quarter stays empty. */
  #slots = new Uint32Array(SLOTS_MIN);
  #size = 0;
  readonly #key = new Uint32Array(KEY_WORDS);

  /** `words`: how many numbers an entry has. */
  constructor(words: number) {
    this.#width = KEY_WORDS + words;
  }

  get size(): number {
    return this.#size;
  }

  /** The entry of the key, 32 hexadecimal digits; `undefined` where there is none. */
  find(key: string): number | undefined {
    const entry = this.#slots[this.#slotOf(key)] as number;
    return entry === 0 ? undefined : entry - 1;
  }

  /** The entry of the key, which is made with zeros where there is none. */
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

  /** The slot of the key, or the slot in which it would be. Leaves it in `#key`. */
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
