import type { SQLInputValue } from 'node:sqlite';
import type { VectorChange, VectorRows, VectorSlotState } from '../nearest/vector-rows.ts';
import type { Scope } from '../port.ts';
import type { Among, NearestRequest } from '../search.ts';
import type { Connection } from './connection.ts';
import { idsAmong } from './search-among.ts';
import { groupNumber } from './search-group.ts';
import { liveSpace } from './space.ts';

const selectState = `SELECT number, version, trimmed, live FROM search_slots WHERE search_group = ? AND name = ?`;

const selectChanges = `SELECT id, version, floats, vector FROM search_vectors
  WHERE slot = ? AND version > ? ORDER BY version LIMIT ?`;

/**
 * Vectors by their row numbers, in one result row: the ids, and the floats of all vectors in the order of the ids. A
 * JavaScript array for each vector would take as long as the reads. Concatenation leaves bytes unchanged.
 */
const selectPlaced = `SELECT json_group_array(v.id), CAST(group_concat(v.floats, '') AS BLOB) FROM json_each(?) AS k
  CROSS JOIN search_vectors AS v ON v.vector = k.value
  WHERE v.slot = ? AND v.floats IS NOT NULL`;

/** The record's row names the rows of its vectors. */
const selectVectors = `SELECT r.id, v.floats FROM json_each(?) AS k
  CROSS JOIN records AS r ON r.space = ? AND r.collection = ? AND r.id = k.value
  CROSS JOIN search_entries AS e ON e.record = r.record
  CROSS JOIN search_vectors AS v ON v.vector = e.vectors ->> ?
  WHERE v.floats IS NOT NULL`;

const selectListingIds = `SELECT r.id, r.listing_id FROM json_each(?) AS k
  CROSS JOIN records AS r ON r.space = ? AND r.collection = ? AND r.id = k.value
  WHERE r.listing_group IS NOT NULL`;

export type Read = <R>(work: (connection: Connection) => R) => Promise<R>;

/** The vectors of one slot at the moment of `read`. */
export class SlotRows implements VectorRows {
  readonly #read: Read;
  readonly #scope: Scope;
  readonly #request: NearestRequest;

  constructor(read: Read, scope: Scope, request: NearestRequest) {
    this.#read = read;
    this.#scope = scope;
    this.#request = request;
  }

  get owner(): string {
    return this.#scope.name;
  }

  state(): Promise<VectorSlotState | null> {
    return this.#read((connection) => {
      const slot = this.#slotIn(connection);
      if (slot === undefined) return null;
      const { number, version, trimmed, live } = slot;
      return { slot: number, version, trimmed, rows: live };
    });
  }

  changes(after: number, limit: number): Promise<readonly VectorChange[]> {
    return this.#read((connection) => {
      const slot = this.#slotIn(connection)?.number ?? null;
      const rows = connection.all<ChangedRow>(selectChanges, slot, after, limit);
      return rows.map(({ id, version, floats, vector }) => ({ id, version, values: floats, place: vector }));
    });
  }

  vectors(ids: readonly string[], places: readonly number[] = []): Promise<ReadonlyMap<string, Uint8Array>> {
    return this.#read((connection) => {
      const slot = this.#slotIn(connection)?.number ?? 0;
      const found = placedVectors(connection, slot, places);
      const others = ids.filter((id) => !found.has(id));
      if (others.length === 0) return found;
      const keys = this.#keysIn(connection, others);
      const path = `$."${slot}"`;
      const rows = connection.tuples<readonly [string, Uint8Array]>(selectVectors, ...keys, path);
      return new Map([...found, ...rows]);
    });
  }

  listingIds(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#read((connection) => {
      const keys = this.#keysIn(connection, ids);
      return new Map(connection.tuples<readonly [string, string]>(selectListingIds, ...keys));
    });
  }

  among(among: Among, most: number): Promise<readonly string[] | null> {
    return this.#read((connection) => idsAmong(connection, this.#scope, this.#request, { among, most }));
  }

  #slotIn(connection: Connection) {
    const group = groupNumber(connection, this.#scope, this.#request);
    return group === undefined ? undefined : connection.get<SlotRow>(selectState, group, this.#request.slot);
  }

  #keysIn(connection: Connection, ids: readonly string[]): [string, SQLInputValue, string] {
    return [JSON.stringify(ids), liveSpace(connection, this.#scope) ?? null, this.#request.collection];
  }
}

function placedVectors(
  connection: Connection,
  slot: number,
  places: readonly number[],
): ReadonlyMap<string, Uint8Array> {
  const known = places.filter((place) => place > 0);
  if (known.length === 0) return new Map();
  const [row] = connection.tuples<readonly [string, Uint8Array | null]>(
    selectPlaced,
    JSON.stringify(known),
    slot,
  );
  const [list, floats] = row ?? ['[]', null];
  const ids = JSON.parse(list) as readonly string[];
  const bytes = (floats?.byteLength ?? 0) / ids.length;
  return new Map(ids.map((id, at) => [id, floats!.subarray(at * bytes, (at + 1) * bytes)]));
}

interface ChangedRow {
  readonly id: string;
  readonly version: number;
  readonly floats: Uint8Array | null;
  readonly vector: number;
}

interface SlotRow {
  readonly number: number;
  readonly version: number;
  readonly trimmed: number;
  readonly live: number;
}
