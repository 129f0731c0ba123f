import type { Among } from '../search.ts';
import { bytesOf } from './float-bytes.ts';
import type { VectorChange, VectorRows, VectorSlotState } from './vector-rows.ts';

/** A slot as a SQL provider keeps it, in memory, and its moments. */
export class SlotModel {
  static #slots = 0;
  slot = `slot-${SlotModel.#slots++}`;
  version = 0;
  trimmed = 0;
  readonly rows = new Map<string, VectorChange>();
  readonly listingIds = new Map<string, string>();
  readonly owner: string;

  constructor(owner = 'the owner') {
    this.owner = owner;
  }

  write(id: string, values: Float32Array | null, listingId = `listed ${id}`): void {
    this.version += 1;
    const bytes = values === null ? null : new Uint8Array(bytesOf(values));
    // Each version has a place of its own, so that the test detects a place of another version.
    this.rows.set(id, { id, version: this.version, values: bytes, place: this.version });
    this.listingIds.set(id, listingId);
  }

  /** Deletes the tombstones up to a version. */
  trim(version = this.version): void {
    for (const [id, row] of this.rows) {
      if (row.values !== null || row.version > version) continue;
      this.rows.delete(id);
      this.trimmed = Math.max(this.trimmed, row.version);
    }
  }

  moment(): ModelRows {
    return this.moments()();
  }

  /** One moment, for several searches. */
  moments(): () => ModelRows {
    const state = { slot: this.slot, version: this.version, trimmed: this.trimmed, rows: this.#vectors() };
    const [rows, listingIds] = [new Map(this.rows), new Map(this.listingIds)];
    return () => new ModelRows(this.owner, state, rows, listingIds);
  }

  #vectors(): number {
    return [...this.rows.values()].filter(({ values }) => values !== null).length;
  }
}

export type RowsCall = 'state' | 'changes' | 'vectors' | 'listingIds' | 'among';

/** One moment of a slot. Counts what is read, and refuses two reads at a time. */
export class ModelRows implements VectorRows {
  readonly rowsRead = { changes: 0, vectors: 0, listingIds: 0 };
  readonly calls: RowsCall[] = [];
  /** Called before each read: a test stops the search there, lets others work, or fails the read. */
  before: (call: RowsCall) => Promise<void> | void = () => undefined;
  /** The answer of `among`. */
  narrowed: readonly string[] | null = null;
  readonly owner: string;
  readonly given: VectorSlotState;
  readonly #rows: ReadonlyMap<string, VectorChange>;
  readonly #ordered: readonly VectorChange[];
  readonly #listingIds: ReadonlyMap<string, string>;
  #busy = false;

  constructor(
    owner: string,
    given: VectorSlotState,
    rows: ReadonlyMap<string, VectorChange>,
    listingIds: ReadonlyMap<string, string>,
  ) {
    this.owner = owner;
    this.given = given;
    this.#rows = rows;
    this.#ordered = [...rows.values()].sort((left, right) => left.version - right.version);
    this.#listingIds = listingIds;
  }

  /** The content of the moment, for a comparison. */
  get content(): ReadonlyMap<string, VectorChange & { readonly listingId: string }> {
    const listed = ([id, row]: [string, VectorChange]) =>
      [id, { ...row, listingId: this.#listingIds.get(id) ?? '' }] as const;
    return new Map([...this.#rows].map(listed));
  }

  state(): Promise<VectorSlotState | null> {
    return this.#read('state', () => this.given);
  }

  changes(after: number, limit: number): Promise<readonly VectorChange[]> {
    return this.#read('changes', () => {
      const found = this.#ordered.filter(({ version }) => version > after).slice(0, limit);
      this.rowsRead.changes += found.length;
      return found;
    });
  }

  vectors(ids: readonly string[], places: readonly number[] = []): Promise<ReadonlyMap<string, Uint8Array>> {
    return this.#read('vectors', () => {
      for (const [at, place] of places.entries()) this.#checkPlace(ids[at]!, place);
      const found = ids.flatMap((id): [string, Uint8Array][] => {
        const values = this.#rows.get(id)?.values;
        return values === undefined || values === null ? [] : [[id, values]];
      });
      this.rowsRead.vectors += found.length;
      return new Map(found);
    });
  }

  /** A place of another row would give another vector. */
  #checkPlace(id: string, place: number): void {
    const known = this.#rows.get(id)?.place;
    if (place !== known) throw new Error(`${id} is at ${known}, not at ${place}`);
  }

  listingIds(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#read('listingIds', () => {
      this.rowsRead.listingIds += ids.length;
      return new Map(ids.map((id) => [id, this.#listingIds.get(id) ?? '']));
    });
  }

  among(_among: Among, most: number): Promise<readonly string[] | null> {
    return this.#read('among', () =>
      this.narrowed !== null && this.narrowed.length > most ? null : this.narrowed,
    );
  }

  async #read<Answer>(call: RowsCall, answer: () => Answer): Promise<Answer> {
    if (this.#busy) throw new Error('a read of a moment was made while another was under way');
    this.#busy = true;
    this.calls.push(call);
    try {
      await this.before(call);
      return answer();
    } finally {
      this.#busy = false;
    }
  }
}
