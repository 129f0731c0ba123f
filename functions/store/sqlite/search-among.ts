import { listedName } from '../grouping.ts';
import { listQuestion } from '../list-plan.ts';
import type { ListSelection, Scope } from '../port.ts';
import { addBounds, type Predicate } from '../predicates.ts';
import { afterPrefix } from '../prefixes.ts';
import type { Among, NearestRequest } from '../search.ts';
import type { Connection } from './connection.ts';
import { addPredicate, planOf, Sql } from './list.ts';
import { liveSpace } from './space.ts';

/** Each prefix is a range of its own. */
const prefixesMax = 64;

/** The records of the group that fulfil `among`; `null` where no index serves it, or more than `most` rows of one would be read. */
export function idsAmong(
  connection: Connection,
  scope: Scope,
  { collection: name, group }: Pick<NearestRequest, 'collection' | 'group'>,
  { among: { idPrefixes, ...conditions }, most }: { readonly among: Among; readonly most: number },
): readonly string[] | null {
  const space = liveSpace(connection, scope);
  if (space === undefined || idPrefixes?.length === 0) return [];
  if (idPrefixes !== undefined && idPrefixes.length > prefixesMax) return null;
  const selection: ListSelection = {
    by: 'list',
    // As its records were written: a search knows the name alone.
    collection: {
      name,
      pairedIndexes: connection.paired(name),
      ...(connection.grouped(name) ? { listedByGroup: true } : {}),
    },
    group,
    limit: most,
    ...conditions,
  };
  const question = listQuestion(selection);
  if (question === undefined) return [];
  const [first] = question.predicates;
  if (first === undefined) {
    return idPrefixes === undefined ? null : idsByPrefix(connection, space, selection, idPrefixes);
  }
  const { driver } = planOf(connection, space, question);
  const walked = driver === 'listing' ? first : driver;
  const rows = entriesOf(space, selection, walked);
  if (question.predicates.length === 1 && idPrefixes === undefined) return idsIn(connection, rows, most);
  const counted = new Sql();
  counted.add(
    `SELECT count(*) AS entries FROM (SELECT 1 FROM ${rows.text} LIMIT ?)`,
    ...rows.values,
    most + 1,
  );
  const count = connection.get<{ entries: number }>(counted.text, ...counted.values)?.entries ?? 0;
  if (count > most) return null;
  const sql = new Sql();
  sql.add('SELECT json_group_array(e.id) AS ids FROM');
  sql.add(
    rows.text.replace(' WHERE', ' CROSS JOIN search_entries AS e ON e.record = d.record WHERE'),
    ...rows.values,
  );
  for (const predicate of question.predicates) {
    if (predicate !== walked) addPredicate(sql, selection, predicate);
  }
  if (idPrefixes !== undefined) addPrefixes(sql, idPrefixes);
  return idsOf(connection, sql);
}

/** The ids of all rows of one range, which are counted as they are read; `null`: more than `most`. */
function idsIn(connection: Connection, rows: Sql, most: number): readonly string[] | null {
  const sql = new Sql();
  sql.add('SELECT json_group_array(e.id) AS ids FROM (SELECT d.record FROM');
  sql.add(`${rows.text} LIMIT ?) AS d`, ...rows.values, most + 1);
  // A row without an entry was read, too.
  sql.add('LEFT JOIN search_entries AS e ON e.record = d.record');
  const ids: readonly (string | null)[] = idsOf(connection, sql);
  return ids.length > most ? null : ids.filter((id) => id !== null);
}

/** One row for all ids takes half the time of a row for each. */
function idsOf(connection: Connection, { text, values }: Sql): readonly string[] {
  return JSON.parse(connection.get<{ ids: string }>(text, ...values)?.ids ?? '[]') as string[];
}

/** The entries of one condition: one range of an index. */
function entriesOf(space: number, selection: ListSelection, predicate: Predicate): Sql {
  const { collection, group = '' } = selection;
  const sql = new Sql();
  sql.add('entries AS d WHERE d.space = ? AND d.collection = ?', space, collection.name);
  sql.add('AND d.name = ?', listedName(selection, predicate.name));
  // The index of the second order holds paired entries only; the entries of a collection are all paired, or none is.
  if (collection.pairedIndexes) sql.add('AND d.paired = 1');
  addBounds(sql, 'd.value', predicate);
  sql.add('AND d.listing_group = ?', group);
  return sql;
}

/** One range of the listing for each prefix. A record that two prefixes lead to is given once. */
function idsByPrefix(
  connection: Connection,
  space: number,
  { collection, group = '', limit: most }: ListSelection,
  prefixes: readonly string[],
): readonly string[] | null {
  const ranges = new Sql();
  for (const [index, prefix] of prefixes.entries()) {
    if (index > 0) ranges.add('UNION');
    ranges.add(
      'SELECT d.record FROM records AS d WHERE d.space = ? AND d.collection = ?',
      space,
      collection.name,
    );
    ranges.add('AND d.listing_group = ?', group);
    addPrefix(ranges, prefix);
  }
  const count = `SELECT count(*) AS records FROM (${ranges.text} LIMIT ?)`;
  const found = connection.get<{ records: number }>(count, ...ranges.values, most + 1)?.records ?? 0;
  if (found > most) return null;
  const sql = new Sql();
  sql.add(`SELECT json_group_array(e.id) AS ids FROM (${ranges.text}) AS d`, ...ranges.values);
  sql.add('CROSS JOIN search_entries AS e ON e.record = d.record');
  return idsOf(connection, sql);
}

function addPrefixes(sql: Sql, prefixes: readonly string[]): void {
  sql.add('AND (0');
  for (const prefix of prefixes) {
    sql.add('OR (1');
    addPrefix(sql, prefix);
    sql.add(')');
  }
  sql.add(')');
}

function addPrefix(sql: Sql, prefix: string): void {
  const end = afterPrefix(prefix);
  sql.add('AND d.listing_id >= ?', prefix);
  if (end !== undefined) sql.add('AND d.listing_id < ?', end);
}
