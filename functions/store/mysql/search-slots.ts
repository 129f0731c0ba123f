import { deadMax } from './search-schema.ts';
import { type Statement, statement, type Value } from './statement.ts';
import { insertRows } from './write.ts';

/** A vector of a record, or its tombstone. */
export interface SlotChange {
  readonly collection: string;
  readonly group: string;
  readonly slot: string;
  readonly id: string;
  readonly vector: Buffer | null;
  /** The change of the number of vectors in the slot. */
  readonly live: 1 | 0 | -1;
}

/** Each change has a version of its own. The caller holds the scope, or makes the only load of the space. */
export function changeSlots(space: number, changes: readonly SlotChange[]): Statement[] {
  const slots = Map.groupBy(changes, ({ collection, group, slot }) =>
    JSON.stringify([collection, group, slot]),
  );
  return [...slots.values()].flatMap((some) => changeSlot(space, some));
}

/** Session variables carry the slot's number and version from one statement to the next: all travel in one packet. */
function changeSlot(space: number, changes: readonly SlotChange[]): Statement[] {
  const [first] = changes;
  if (first === undefined) return [];
  const { collection, group, slot } = first;
  const live = changes.reduce((sum, change) => sum + change.live, 0);
  const dead = changes.filter(({ vector }) => vector === null).length;
  const rows = changes.map(({ id, vector }, index): Value[] => [id, index, vector === null ? 1 : 0, vector]);
  return [
    statement(
      `INSERT INTO {search_slots} (space, collection, search_group, slot, version, trimmed, live, dead)
        VALUES (?, ?, ?, ?, ?, 0, ?, ?) ON DUPLICATE KEY UPDATE
        version = version + VALUES(version), live = live + VALUES(live), dead = dead + VALUES(dead)`,
      space,
      collection,
      group,
      slot,
      changes.length,
      live,
      dead,
    ),
    statement(
      `SELECT number, version INTO @number, @version FROM {search_slots}
        WHERE space = ? AND collection = ? AND search_group = ? AND slot = ?`,
      space,
      collection,
      group,
      slot,
    ),
    ...insertRows(
      'INSERT INTO {search_vectors} (slot, id, version, is_dead, vector) VALUES',
      rows,
      'ON DUPLICATE KEY UPDATE version = VALUES(version), is_dead = VALUES(is_dead), vector = VALUES(vector)',
      '(@number, ?, @version - ?, ?, ?)',
    ),
    ...(dead === 0 ? [] : trim),
  ];
}

/** Half of the tombstones at which a trim starts, so that readers rarely have to start again. */
const trimmedMax = deadMax / 2;

/** Deletes the oldest tombstones of a slot with too many, and a slot without vectors. */
const trim: readonly Statement[] = [
  'SET @number = (SELECT number FROM {search_slots} WHERE number = @number AND (live = 0 OR dead > ?))',
  `SET @trimmed = (SELECT IF(s.live = 0, s.version, (SELECT MAX(x.version) FROM (
    SELECT version FROM {search_vectors} FORCE INDEX (search_vectors_dead) WHERE slot = @number AND is_dead = 1
    ORDER BY version LIMIT ${trimmedMax}) AS x)) FROM {search_slots} AS s WHERE s.number = @number)`,
  'DELETE FROM {search_vectors} WHERE slot = @number AND is_dead = 1 AND version <= @trimmed',
  'SET @gone = ROW_COUNT()',
  `UPDATE {search_slots} SET trimmed = GREATEST(trimmed, COALESCE(@trimmed, 0)),
    dead = IF(live = 0 OR @gone < ${trimmedMax}, 0, dead - ${trimmedMax}) WHERE number = @number`,
  'DELETE FROM {search_slots} WHERE number = @number AND live = 0 AND dead = 0',
].map((text) => statement(text.replace('?', `${deadMax}`)));
