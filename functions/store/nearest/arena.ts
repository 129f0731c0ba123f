import { type Kernel, kernelOver } from './kernel.ts';

const PAGE = 65_536;
/** Blocks are powers of two between these. */
export const blockMin = 16 * 1024;
export const blockMax = 1024 * 1024;
export const regionMin = 16 * blockMax;
const REGIONS_MAX = 64;
/** Rows whose products one call of the kernel writes. */
export const productsMax = 4096;
/** Dimensions of the longest query that a region has room for. */
export const dimensionsMax = 8192;
/** Behind the blocks of a region, in whole pages. */
export const scratchBytes = Math.ceil((2 * dimensionsMax + 8 * productsMax) / PAGE) * PAGE;

/** A WebAssembly memory and the kernel over it. It never grows, so that views of it stay valid. */
export interface Region {
  readonly memory: WebAssembly.Memory;
  readonly kernel: Kernel;
  /** Where a call of the kernel puts its query and finds its results; used within one turn of the event loop. */
  readonly query: Int16Array;
  readonly products: Int32Array;
  /** Numbers of rows. */
  readonly reaching: Int32Array;
}

export interface Block {
  readonly region: Region;
  readonly offset: number;
  readonly bytes: number;
}

/**
 * Memory for all matrices together, bounded. The system gives a region its pages when they are first written, so an
 * empty one costs nothing. A region that is free again as a whole is dropped.
 */
export class Arena {
  readonly #bytesMax: number;
  readonly #regionBytes: number;
  readonly #regions: FreeList[] = [];
  #used = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#regionBytes = Math.max(regionMin, powerOfTwo(bytesMax / REGIONS_MAX));
  }

  /** Bytes that are taken or charged. */
  get used(): number {
    return this.#used;
  }

  /** `null`: there is no room, also where enough bytes are free in smaller pieces. */
  take(bytes: number): Block | null {
    if (this.#used + bytes > this.#bytesMax) return null;
    for (const region of this.#regions) {
      const block = region.take(bytes);
      if (block === null) continue;
      this.#used += bytes;
      return block;
    }
    if (this.#regions.length * this.#regionBytes >= this.#bytesMax) return null;
    if (this.#used + bytes + scratchBytes > this.#bytesMax) return null;
    const region = new FreeList(this.#regionBytes);
    this.#regions.push(region);
    this.#used += scratchBytes;
    return this.take(bytes);
  }

  give(block: Block): void {
    const at = this.#regions.findIndex(({ region }) => region === block.region);
    const region = this.#regions[at]!;
    region.give(block);
    this.#used -= block.bytes;
    if (!region.isUnused) return;
    this.#used -= scratchBytes;
    this.#regions.splice(at, 1);
  }

  /** Counts memory outside of the arena. `false`: it does not fit, and nothing is counted. */
  charge(bytes: number): boolean {
    if (this.#used + bytes > this.#bytesMax) return false;
    this.#used += bytes;
    return true;
  }

  refund(bytes: number): void {
    this.#used -= bytes;
  }
}

/** The free blocks of one region, halved when a smaller one is wanted and joined again when both halves are free. */
class FreeList {
  readonly region: Region;
  readonly #free = new Map<number, Set<number>>();
  readonly #blocks: number;

  constructor(bytes: number) {
    const pages = (bytes + scratchBytes) / PAGE;
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    for (let size = blockMin; size <= blockMax; size *= 2) this.#free.set(size, new Set());
    for (let offset = 0; offset < bytes; offset += blockMax) this.#free.get(blockMax)!.add(offset);
    this.#blocks = bytes / blockMax;
    this.region = {
      memory,
      kernel: kernelOver(memory),
      query: new Int16Array(memory.buffer, bytes, dimensionsMax),
      products: new Int32Array(memory.buffer, bytes + 2 * dimensionsMax, productsMax),
      reaching: new Int32Array(memory.buffer, bytes + 2 * dimensionsMax + 4 * productsMax, productsMax),
    };
  }

  get isUnused(): boolean {
    return this.#free.get(blockMax)!.size === this.#blocks;
  }

  take(bytes: number): Block | null {
    const offset = this.#offset(bytes);
    return offset === null ? null : { region: this.region, offset, bytes };
  }

  #offset(bytes: number): number | null {
    const free = this.#free.get(bytes);
    if (free === undefined) return null;
    for (const offset of free) {
      free.delete(offset);
      return offset;
    }
    const both = this.#offset(bytes * 2);
    if (both === null) return null;
    free.add(both + bytes);
    return both;
  }

  give({ offset, bytes }: Block): void {
    let [start, size] = [offset, bytes];
    for (; size < blockMax; size *= 2) {
      const other = start % (2 * size) === 0 ? start + size : start - size;
      if (!this.#free.get(size)!.delete(other)) break;
      start = Math.min(start, other);
    }
    this.#free.get(size)!.add(start);
  }
}

/** The least power of two that is not below. */
export function powerOfTwo(least: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, least)));
}
