import type { Connection } from './connection.ts';

/**
 * The tombstones of a slot at which a trim starts; it deletes half of them, so that readers rarely have to start again.
 */
const deadMax = 2_000;

interface Slot {
  readonly number: number;
  version: number;
  trimmed: number;
  live: number;
  dead: number;
}

const columns = 'number, version, trimmed, live, dead';

/** The vectors that one transaction writes. Each gets a version of its slot; the slots are written once, at the end. */
export class SlotWrites {
  readonly #connection: Connection;
  readonly #slots = new Map<number, Slot>();
  readonly #names = new Map<string, Slot>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  named(group: number, name: string): Slot {
    const known = this.#names.get(`${group}/${name}`);
    if (known !== undefined) return known;
    const find = `SELECT ${columns} FROM search_slots WHERE search_group = ? AND name = ?`;
    const found = this.#connection.get<Slot>(find, group, name);
    const slot = found === undefined ? this.#create(group, name) : (this.#slots.get(found.number) ?? found);
    this.#names.set(`${group}/${name}`, slot);
    this.#slots.set(slot.number, slot);
    return slot;
  }

  /** Answers the place of the new vector. */
  insert(slot: Slot, id: string, floats: Uint8Array): number {
    if (slot.dead > 0) {
      const sql = 'DELETE FROM search_vectors WHERE slot = ? AND id = ? AND floats IS NULL';
      slot.dead -= this.#connection.run(sql, slot.number, id).changes;
    }
    slot.live += 1;
    slot.version += 1;
    this.#connection.written += floats.byteLength;
    const sql = 'INSERT INTO search_vectors (slot, version, id, floats) VALUES (?, ?, ?, ?)';
    return this.#connection.run(sql, slot.number, slot.version, id, floats).rowid;
  }

  /** A vector that stays as it was gets no new version, so that no search reads it again. */
  update(slot: Slot, place: number, floats: Uint8Array): number {
    const find = 'SELECT floats FROM search_vectors WHERE vector = ?';
    const before = this.#connection.get<{ floats: Uint8Array }>(find, place)?.floats;
    if (before !== undefined && Buffer.compare(before, floats) === 0) return place;
    slot.version += 1;
    this.#connection.written += floats.byteLength;
    const sql = 'UPDATE search_vectors SET version = ?, floats = ? WHERE vector = ?';
    this.#connection.run(sql, slot.version, floats, place);
    return place;
  }

  remove(number: number, place: number): void {
    const slot = this.#numbered(number);
    if (slot === undefined) return;
    slot.live -= 1;
    slot.dead += 1;
    slot.version += 1;
    const sql = 'UPDATE search_vectors SET version = ?, floats = NULL WHERE vector = ?';
    this.#connection.run(sql, slot.version, place);
  }

  finish(): void {
    const sql = 'UPDATE search_slots SET version = ?, trimmed = ?, live = ?, dead = ? WHERE number = ?';
    for (const slot of this.#slots.values()) {
      if (slot.dead > deadMax) this.#trim(slot);
      this.#connection.run(sql, slot.version, slot.trimmed, slot.live, slot.dead, slot.number);
    }
  }

  #create(group: number, name: string): Slot {
    const sql = `INSERT INTO search_slots (search_group, name, version, trimmed, live, dead) VALUES (?, ?, 0, 0, 0, 0)`;
    return { number: this.#connection.run(sql, group, name).rowid, version: 0, trimmed: 0, live: 0, dead: 0 };
  }

  #numbered(number: number): Slot | undefined {
    const known = this.#slots.get(number);
    if (known !== undefined) return known;
    const found = this.#connection.get<Slot>(`SELECT ${columns} FROM search_slots WHERE number = ?`, number);
    if (found !== undefined) this.#slots.set(number, found);
    return found;
  }

  #trim(slot: Slot): void {
    const oldest = `SELECT vector, version FROM search_vectors INDEXED BY search_vectors_removed
      WHERE slot = ? AND floats IS NULL ORDER BY version LIMIT ?`;
    const rows = this.#connection.all<{ vector: number; version: number }>(
      oldest,
      slot.number,
      slot.dead - deadMax / 2,
    );
    for (const { vector, version } of rows) {
      this.#connection.run('DELETE FROM search_vectors WHERE vector = ?', vector);
      slot.trimmed = version;
    }
    slot.dead -= rows.length;
  }
}
