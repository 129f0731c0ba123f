import { StoreError } from '../port.ts';
import { ChangeLog } from './change-log.ts';
import { floatsOf } from './float-bytes.ts';
import type { Matrix } from './matrix.ts';
import type { VectorChange, VectorRows, VectorSlotState } from './vector-rows.ts';

/**
 * - `ready`: the matrix answers searches at the moment.
 * - `outdated`: tombstones that it has not read are deleted, so it has to be read again from the beginning.
 * - `ahead`: it was read at a later moment, and does not know all that changed since.
 */
export type Readiness = 'ready' | 'outdated' | 'ahead';

export interface LoadOptions {
  readonly turn: () => Promise<void>;
  readonly loadedPerPage: (dimensions: number) => number;
}

/** The matrix of a slot, up to a version. */
export class LoadedSlot {
  readonly matrix: Matrix;
  readonly log = new ChangeLog();
  /** The number of searches that use the matrix, which is not evicted during that time. */
  pins = 0;
  isDropped = false;
  /** The version up to which the rows were read. */
  #version = 0;
  /** The highest version of a moment that rows were read from. Below `#version` rows of it are missing. */
  #seen = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(matrix: Matrix) {
    this.matrix = matrix;
  }

  /** Whether all rows of a moment were read once. */
  get wasLoaded(): boolean {
    return this.log.hasBegun;
  }

  /**
   * Reads the changes up to the moment. One caller reads at a time; the next one continues a load that fails. An
   * interrupted load may lack rows that changed since, so only a caller at the same or a later moment continues it.
   */
  bringTo(rows: VectorRows, state: VectorSlotState, options: LoadOptions): Promise<Readiness> {
    if (this.#isReady(state)) return Promise.resolve('ready');
    return this.#alone(async () => {
      if (this.#isReady(state)) return 'ready';
      if (this.isDropped || state.version < this.#seen) return 'ahead';
      if (this.#version > 0 && this.#version < state.trimmed) return 'outdated';
      await this.#read(rows, state, options);
      return 'ready';
    });
  }

  #isReady({ version }: VectorSlotState): boolean {
    return this.#version === this.#seen && version <= this.#version && this.log.idsAbove(version) !== null;
  }

  async #read(rows: VectorRows, state: VectorSlotState, { turn, loadedPerPage }: LoadOptions): Promise<void> {
    this.#seen = state.version;
    const perPage = loadedPerPage(this.matrix.dimensions);
    for (;;) {
      const page = await rows.changes(this.#version, perPage);
      for (const change of page) this.#apply(change);
      if (page.length < perPage) break;
      await turn();
    }
    this.#version = state.version;
    if (!this.log.hasBegun) this.log.begin(state.version);
  }

  #apply({ id, version, values: bytes, place }: VectorChange): void {
    if (version <= this.#version || version > this.#seen) {
      throw new StoreError('corrupt', 'the versions of a slot of vectors do not ascend');
    }
    const values = bytes === null ? null : floatsOf(bytes, this.matrix.dimensions);
    // Before the row changes: a search that is under way must not miss it.
    if (this.log.hasBegun) this.log.add(version, id, this.matrix.size);
    if (values === null) this.matrix.remove(id);
    else this.matrix.put(id, values, place);
    this.#version = version;
  }

  async #alone<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    await before;
    try {
      return await work();
    } finally {
      resolve();
    }
  }
}
