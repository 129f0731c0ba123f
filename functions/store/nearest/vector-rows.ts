import type { Among } from '../search.ts';

/**
 * The rows of one slot of one group at one moment, which a SQL provider hands to a search by vector. The search makes one
 * read at a time.
 */
export interface VectorRows {
  /** The owner of the slot. Each owner has a share of the memory while other owners use theirs. */
  readonly owner: string;

  /** `null` where the group has no such slot: no record carries a vector in it. */
  state(): Promise<VectorSlotState | null>;

  /**
   * The rows whose version is above `after`, by version upwards, at most `limit`: fewer only at the end. The slot's own
   * version is the highest. `after` 0 reads all rows.
   */
  changes(after: number, limit: number): Promise<readonly VectorChange[]>;

  /**
   * The vectors of these records, without records that have none. At most `idsMax` ids per call. `places` are the
   * places of the first records, of rows that have not changed since; 0 for an unknown place.
   */
  vectors(ids: readonly string[], places?: readonly number[]): Promise<ReadonlyMap<string, Uint8Array>>;

  /**
   * The listing ids of these records, without records that have no listing, which sort first. At most `idsMax` ids per
   * call.
   */
  listingIds(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;

  /**
   * The ids of the records that fulfil `among`, each once, whether they carry a vector or not. `null`: the provider has no
   * index for it, or they are more than `most`.
   */
  among(among: Among, most: number): Promise<readonly string[] | null>;
}

/** Ids that one call of `vectors` or `listingIds` names at most. */
export const idsMax = 1000;

/** A slot at a moment. Reading it costs one row: every search does. */
export interface VectorSlotState {
  /**
   * Names the slot's data in this store. Never used again for other data: a slot that was emptied by a swap, a restore or a
   * removed collection and is written again has another id.
   */
  readonly slot: number | string;
  /** The highest version that a row of the slot ever had. A written or removed row gets a new version above it. */
  readonly version: number;
  /**
   * The highest version of a deleted tombstone; 0: none was deleted. A reader that stopped below it reads again from 0.
   */
  readonly trimmed: number;
  /**
   * The number of rows with a vector. An estimate suffices: it decides which slots stay in memory, and no search result
   * depends on it.
   */
  readonly rows: number;
}

/** A row of the slot. Each record has at most one. */
export interface VectorChange {
  /** The record. */
  readonly id: string;
  /** A whole number above 0 that no other row of the slot has. */
  readonly version: number;
  /** Little-endian float32. `null`, a tombstone: the record was removed or carries no such vector any more. */
  readonly values: Uint8Array | null;
  /**
   * A positive number by which the provider reads this row in fewer steps than by the id. Absent: the provider has
   * none.
   */
  readonly place?: number;
}
