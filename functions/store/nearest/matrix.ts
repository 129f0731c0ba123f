import { hash } from 'node:crypto';
import { type Block, blockMax, blockMin, powerOfTwo, regionMin, scratchBytes } from './arena.ts';
import { IdIndex } from './id-index.ts';
import { type QuantizedRow, quantizeRow, strideOf } from './quantize.ts';
import { capacityOf, type RowBlock, rowBlock } from './row-block.ts';

/** A position is the number of its block and the row in it; a block has fewer rows. */
const ROW_BITS = 15;
const ROW_MASK = 2 ** ROW_BITS - 1;
/** The value of a character of a record id; -1: no record id has it. */
const DIGITS = Int8Array.from({ length: 128 }, (_, code) =>
  '0123456789abcdef'.indexOf(String.fromCharCode(code)),
);
const ID_CHARACTERS = 32;
const NO_DIGIT = /[^0-9a-f]/;
/** The greatest place that the memory can hold; a greater one is stored as 0, for unknown. */
const PLACE_MAX = 2 ** 32 - 1;
/** The approximate memory of an id that is not hexadecimal. */
const NAME_BYTES = 200;

/** The most bytes of the index per row, and its least size. */
const INDEX_BYTES = 11;
const INDEX_LEAST = 2048;

/** No room for a further row. */
export class NoRoom extends Error {}

/** The vectors of one slot in few bits. A row keeps its position until it is removed. */
export class Matrix {
  readonly dimensions: number;
  readonly stride: number;
  readonly blocks: RowBlock[] = [];
  readonly #room: MatrixMemory;
  readonly #index = new IdIndex();
  readonly #free: number[] = [];
  /** Ids of another form, by the words that represent them. */
  readonly #names = new Map<string, string>();
  readonly #row: QuantizedRow = { norm: 0, scale: 0, residual: 0 };
  readonly #id = Buffer.alloc(16);
  /** The id in the byte order of the machine. */
  readonly #words = new Uint32Array(this.#id.buffer, this.#id.byteOffset, 4);
  readonly #shownId = Buffer.alloc(16);
  readonly #shown = new Uint32Array(this.#shownId.buffer, this.#shownId.byteOffset, 4);
  /** Whether the id that was read last is that of a record. */
  #isRecordId = false;
  #charged = 0;
  #size = 0;

  constructor(dimensions: number, room: MatrixMemory) {
    this.dimensions = dimensions;
    this.stride = strideOf(dimensions);
    this.#room = room;
  }

  /** Rows. */
  get size(): number {
    return this.#size;
  }

  /** Adds the row of a record, or gives it other values. `place` is where the provider finds them; 0: it is not known. */
  put(id: string, values: Float32Array, place = 0): void {
    const found = this.positionOf(id);
    const position = found === -1 ? this.#newPosition(id) : found;
    const { block, row } = this.at(position);
    const into = this.#row;
    quantizeRow(values, block.numbers, row * this.stride, into);
    block.norms[row] = into.norm;
    block.scales[row] = into.scale;
    block.residuals[row] = into.residual;
    block.places[row] = place > PLACE_MAX ? 0 : place;
  }

  remove(id: string): void {
    const position = this.positionOf(id);
    if (position === -1) return;
    this.#index.remove(this.#words[0]!, this.#words[1]!, position);
    const { block, row } = this.at(position);
    block.residuals[row] = Number.NaN;
    this.#free.push(position);
    this.#size -= 1;
    if (this.#names.delete(this.#id.toString('hex'))) this.#charge(-NAME_BYTES);
  }

  /** -1: the matrix has no such row. */
  positionOf(id: string): number {
    this.#readId(id);
    return this.#find(this.#words, 0);
  }

  /** The positions of those records that have a row, in their order. */
  positionsOf(ids: readonly string[]): readonly number[] {
    const words = wordsOf(ids);
    const found: number[] = [];
    for (let at = 0; at < ids.length; at += 1) {
      const position = words === null ? this.positionOf(ids[at]!) : this.#find(words, 4 * at);
      if (position !== -1) found.push(position);
    }
    return found;
  }

  /** The row of the id that the words from `from` on hold. */
  #find(words: Uint32Array, from: number): number {
    const [first, second] = [words[from]!, words[from + 1]!];
    return this.#index.find(first, second, (position) => {
      const { ids } = this.blocks[position >>> ROW_BITS]!;
      const at = 4 * (position & ROW_MASK);
      return (
        ids[at + 1] !== second ||
        ids[at + 2] !== words[from + 2] ||
        ids[at + 3] !== words[from + 3] ||
        ids[at] !== first
      );
    });
  }

  /** The record at a position; of a removed row, the record that it was of. */
  idAt(position: number): string {
    const { block, row } = this.at(position);
    // Without a copy that the collector removes: a search names hundreds of records.
    for (let word = 0; word < 4; word += 1) this.#shown[word] = block.ids[4 * row + word]!;
    const id = this.#shownId.toString('hex');
    return this.#names.get(id) ?? id;
  }

  /** Where the provider finds the vector of the row; 0: it is not known. */
  placeAt(position: number): number {
    const { block, row } = this.at(position);
    return block.places[row]!;
  }

  at(position: number): { readonly block: RowBlock; readonly row: number } {
    return { block: this.blocks[position >>> ROW_BITS]!, row: position & ROW_MASK };
  }

  /** The position of the first row of a block; its other rows follow. */
  firstOf(block: number): number {
    return block * 2 ** ROW_BITS;
  }

  /** Gives all memory back; the matrix is not used any more. */
  release(): void {
    for (const { block } of this.blocks) this.#room.give(block);
    this.#room.refund(this.#charged);
    this.blocks.length = 0;
    this.#charged = 0;
  }

  /** The words of an id; an id of another form has those of its hash. */
  #readId(id: string): void {
    this.#isRecordId = readHex(id, this.#id);
    if (!this.#isRecordId) this.#id.write(hash('sha256', id, 'hex').slice(0, ID_CHARACTERS), 'hex');
  }

  /** A position for the id that was read last. */
  #newPosition(id: string): number {
    const position = this.#free.pop() ?? this.#append();
    const { block, row } = this.at(position);
    block.ids.set(this.#words, 4 * row);
    block.residuals[row] = Number.NaN;
    this.#size += 1;
    const hashOf = (at: number) => this.blocks[at >>> ROW_BITS]!.ids[4 * (at & ROW_MASK) + 1]!;
    this.#charge(this.#index.add(this.#words[0]!, this.#words[1]!, position, hashOf));
    if (!this.#isRecordId) {
      this.#names.set(this.#id.toString('hex'), id);
      this.#charge(NAME_BYTES);
    }
    return position;
  }

  #append(): number {
    let last = this.blocks.length - 1;
    if (last === -1 || this.blocks[last]!.count === this.blocks[last]!.capacity) {
      const block = this.#room.take(this.#nextBytes());
      if (block === null) throw new NoRoom();
      this.blocks.push(rowBlock(block, this.stride));
      last += 1;
    }
    const block = this.blocks[last]!;
    block.count += 1;
    return last * 2 ** ROW_BITS + block.count - 1;
  }

  /** As much as the matrix has, within the sizes of blocks. */
  #nextBytes(): number {
    const bytes = this.blocks.reduce((sum, { block }) => sum + block.bytes, 0);
    return Math.min(blockMax, Math.max(blockMin, powerOfTwo(bytes)));
  }

  #charge(bytes: number): void {
    if (bytes < 0) this.#room.refund(-bytes);
    else if (!this.#room.charge(bytes)) throw new NoRoom();
    this.#charged += bytes;
  }
}

/** The words of many record ids, in a small part of the time; `null` where one is of another form. */
function wordsOf(ids: readonly string[]): Uint32Array | null {
  const text = ids.join('');
  const bytes = Buffer.alloc(16 * ids.length);
  const isWhole =
    text.length === ID_CHARACTERS * ids.length && ids.every(({ length }) => length === ID_CHARACTERS);
  // The decoder takes capitals, which no record id has, and of any character the low byte alone: that of İ is a digit.
  if (!isWhole || NO_DIGIT.test(text) || bytes.write(text, 'hex') < bytes.length) return null;
  return new Uint32Array(bytes.buffer, bytes.byteOffset, 4 * ids.length);
}

/** Whether the id is a record id, whose bytes it then writes: in less time than a pattern and a decoder, which read it twice. */
function readHex(id: string, bytes: Uint8Array): boolean {
  if (id.length !== ID_CHARACTERS) return false;
  for (let at = 0; at < ID_CHARACTERS; at += 2) {
    const byte = (digitAt(id, at) << 4) | digitAt(id, at + 1);
    if (byte < 0) return false;
    bytes[at / 2] = byte;
  }
  return true;
}

function digitAt(id: string, at: number): number {
  return DIGITS[id.charCodeAt(at)] ?? -1;
}

/** Where a matrix has its memory from. */
export interface MatrixMemory {
  take(bytes: number): Block | null;
  give(block: Block): void;
  charge(bytes: number): boolean;
  refund(bytes: number): void;
}

/** The most bytes of a matrix with this many rows: its index, the unused part of its last block, and its regions. */
export function bytesOfMatrix(rows: number, dimensions: number): number {
  const perRow = blockMax / capacityOf(blockMax, strideOf(dimensions));
  const blocks = rows * perRow + Math.min(blockMax, rows * perRow) + blockMin;
  const regions = Math.ceil(blocks / regionMin);
  return blocks + rows * INDEX_BYTES + INDEX_LEAST + regions * scratchBytes;
}
