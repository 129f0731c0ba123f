import { cursorOf } from '../list-plan.ts';
import type {
  KeyRequest,
  KeysSelection,
  ListSelection,
  Part,
  PartPage,
  PartsSelection,
  RecordData,
  RecordPage,
  Scope,
} from '../port.ts';
import type { Connection } from './connection.ts';
import { findPlaces } from './list.ts';
import { columnsOf, findRow, type RecordRow, recordOf } from './rows.ts';
import { liveSpace } from './space.ts';

/** A page ends early once it holds this many characters, so that memory stays flat with large bodies. */
const pageCharactersMax = 32 * 1024 * 1024;

export function readPage(
  connection: Connection,
  scope: Scope,
  selection: KeysSelection | ListSelection | PartsSelection,
): RecordPage | PartPage {
  if (selection.by === 'keys') return readKeys(connection, scope, selection);
  if (selection.by === 'list') return readList(connection, scope, selection);
  return readParts(connection, scope, selection);
}

/** The only key of a selection whose record one statement reads; `undefined` for any other selection. */
export function onlyKeyOf(selection: KeysSelection | ListSelection | PartsSelection): KeyRequest | undefined {
  if (selection.by !== 'keys' || selection.keys.length !== 1) return undefined;
  const [only] = selection.keys;
  return only?.view === 'parts' ? undefined : only;
}

/** In one statement, which needs no transaction of its own. */
export function readOne(
  connection: Connection,
  { kind, name }: Scope,
  { key, view = 'head' }: KeyRequest,
): RecordPage {
  const space = '(SELECT space FROM scopes WHERE kind = ? AND name = ?)';
  const sql = `SELECT ${columnsOf(view)} FROM records WHERE space = ${space} AND collection = ? AND id = ?`;
  const row = connection.get<RecordRow>(sql, kind, name, key.collection, key.id);
  // Without parts, `recordOf` reads nothing more, so it needs no space number.
  return { records: row === undefined ? [] : [recordOf(connection, 0, row, view)], next: null };
}

function readKeys(connection: Connection, scope: Scope, selection: KeysSelection): RecordPage {
  const space = liveSpace(connection, scope);
  const records: RecordData[] = [];
  if (space === undefined) return { records, next: null };
  for (const { key, view = 'head' } of selection.keys) {
    const row = findRow(connection, space, key, view);
    if (row !== undefined) records.push(recordOf(connection, space, row, view));
  }
  return { records, next: null };
}

function readList(connection: Connection, scope: Scope, selection: ListSelection): RecordPage {
  const space = liveSpace(connection, scope);
  const records: RecordData[] = [];
  if (space === undefined) return { records, next: null };
  const { view = 'body' } = selection;
  const { places, next } = findPlaces(connection, space, selection);
  // In the order of the list, in one statement: one for each record takes twice as long.
  const sql = `SELECT ${columnsOf(view)} FROM (SELECT value AS place FROM json_each(?)) AS p
    CROSS JOIN records ON record = p.place`;
  let characters = 0;
  let at = 0;
  for (const row of connection.iterate<RecordRow>(sql, JSON.stringify(places.map(({ record }) => record)))) {
    while (places[at]?.record !== row.record) at += 1;
    records.push(recordOf(connection, space, row, view));
    characters += row.body?.length ?? 0;
    const last = places[at];
    if (last !== undefined && characters >= pageCharactersMax && at < places.length - 1)
      return { records, next: cursorOf(last) };
  }
  return { records, next: next === undefined ? null : cursorOf(next) };
}

function readParts(connection: Connection, scope: Scope, selection: PartsSelection): PartPage {
  const space = liveSpace(connection, scope);
  const parts: Part[] = [];
  if (space === undefined) return { parts, next: null };
  const { of, limit, after, direction } = selection;
  const descending = direction === 'descending';
  const sql = `SELECT part_order, body FROM parts WHERE space = ? AND filed_under = ?
    ${after === undefined ? '' : `AND part_order ${descending ? '<' : '>'} ?`}
    ORDER BY part_order ${descending ? 'DESC' : 'ASC'} LIMIT ?`;
  const bounds = after === undefined ? [] : [after];
  let characters = 0;
  for (const row of connection.iterate<{ part_order: string; body: string }>(
    sql,
    space,
    of,
    ...bounds,
    limit + 1,
  )) {
    const last = parts.at(-1);
    if (last !== undefined && (parts.length >= limit || characters >= pageCharactersMax)) {
      return { parts, next: last.order };
    }
    parts.push({ of, order: row.part_order, body: row.body });
    characters += row.body.length;
  }
  return { parts, next: null };
}
