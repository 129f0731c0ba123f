import { entrySize } from '../loading.ts';
import { type RecordData, type RecordKey, StoreError } from '../port.ts';
import { together } from './join.ts';
import { conditions, type IfKept, type KeptRow, keptStatement, type Reliance } from './kept.ts';
import type { Plan } from './plan.ts';
import { compareKeys, listingOf, partPlaces, type RecordRow } from './rows.ts';
import { searchWrites } from './search-write.ts';
import { CONDITION, type Column, onCondition, rowsStatement, type Statement } from './statement.ts';
import { changedEntries, deleteEntries, type EntryRules, insertEntries } from './write-entries.ts';

/** Well below the gigabyte that a value may have in the server, even were every character three bytes. */
const charactersMax = 64 * 1024 * 1024;

/**
 * The statements of a plan. Removals come first, so that a record may reuse the listing id of a removed one. The number
 * of statements does not grow with that of the records: values are sent as arrays.
 */
export function writesOf(space: string, plan: Plan, session: EntryRules, condition = 'true'): Statement[] {
  const { creates, updates, removes, absent } = plan;
  assertFits(plan);
  // Last: it locks the rows that all writers of a group share.
  const searches = plan.searched ? searchWrites(space, plan).map((each) => onCondition(each, condition)) : [];
  if (condition === 'true' && isJoinable(plan)) {
    return [...together(joinable(space, plan, session)), ...searches];
  }
  const entries = changedEntries(plan);
  const writes = [
    ...deleteEntries(space, entries.gone, session),
    ...deleteParts(space, removes),
    ...deleteRecords(space, removes.map(keyOf)),
    ...updateRecords(space, updates),
    ...insertRecords(space, creates, absent),
    ...deleteRecords(space, absent),
    ...insertEntries(space, entries.fresh, session),
    ...insertParts(space, creates),
  ];
  return [...writes.map((each) => onCondition(each, condition)), ...searches];
}

/** Whether its statements need not see each other's effects. */
function isJoinable({ removes, absent }: Plan): boolean {
  return removes.length === 0 && absent.length === 0;
}

/** The check and the writes of a plan, which are made if the check holds: in one statement where they can be joined. */
export function writesIfKept(space: string, plan: Plan, session: EntryRules, reliance: Reliance): IfKept {
  if (plan.searched || !isJoinable(plan)) {
    const check = keptStatement(reliance, undefined);
    return [named(check), ...writesOf(space, plan, session, conditions.behind)];
  }
  assertFits(plan);
  const updates = plan.updates.length;
  const check = keptStatement(reliance, updates);
  const writes = joinable(space, plan, session, conditions);
  const [joined = check] = together([
    ...writes,
    onCondition(check, updates === 0 ? '0' : '(SELECT count(*) FROM w0)'),
  ]);
  return [named(joined)];
}

/** The name ends with the action of the statement. */
function named({ text, values }: Statement): Statement<KeptRow> {
  return { text, values, name: 'COMMIT' };
}

/** The server treats no two entries as equal, so that a new entry does not conflict with the one that it replaces. */
function joinable(
  space: string,
  plan: Plan,
  session: EntryRules,
  on = { inOne: 'true', update: 'true' },
): Statement[] {
  const entries = changedEntries(plan);
  const writes = [
    ...deleteEntries(space, entries.gone, session),
    ...insertEntries(space, entries.fresh, session),
    ...insertParts(space, plan.creates),
    ...insertRecords(space, plan.creates, []),
  ];
  // Updates first, because a check counts what they have taken.
  return [
    ...updateRecords(space, plan.updates).map((each) => onCondition(each, on.update)),
    ...writes.map((each) => onCondition(each, on.inOne)),
  ];
}

function assertFits({ creates, updates }: Plan): void {
  let characters = 0;
  for (const { body, search, parts = [] } of [...creates, ...updates.map(({ record }) => record)]) {
    characters += (body?.length ?? 0) + entrySize(search);
    for (const part of parts) characters += part.body.length;
  }
  if (characters > charactersMax) {
    throw new StoreError('too_large', `${characters} characters are more than one transaction carries`);
  }
}

function keyOf({ collection, id }: RecordRow): RecordKey {
  return { collection, id };
}

function deleteParts(space: string, rows: readonly RecordRow[]): Statement[] {
  const places = rows.flatMap(partPlaces);
  if (places.length === 0) return [];
  const text = `DELETE FROM parts WHERE ctid = ANY (ARRAY(
    SELECT p.place FROM (SELECT {0} AS filed_under, {1} AS part_order) AS k
    CROSS JOIN LATERAL (
      SELECT p.ctid AS place FROM parts AS p
      WHERE p.space = $1 AND p.filed_under = k.filed_under AND p.part_order = k.part_order OFFSET 0
    ) AS p)) AND ${CONDITION}`;
  return [
    rowsStatement(
      text,
      [space],
      [
        ['text', places.map(([of]) => of)],
        ['text', places.map(([, order]) => order)],
      ],
    ),
  ];
}

function insertParts(space: string, records: readonly RecordData[]): Statement[] {
  const parts = records.flatMap((record) => record.parts ?? []);
  if (parts.length === 0) return [];
  const text = `INSERT INTO parts (space, filed_under, part_order, body)
    SELECT $1::bigint, {0}, {1}, {2} WHERE ${CONDITION}`;
  return [
    rowsStatement(
      text,
      [space],
      [
        ['text', parts.map(({ of }) => of)],
        ['text', parts.map(({ order }) => order)],
        ['text', parts.map(({ body }) => body)],
      ],
    ),
  ];
}

function deleteRecords(space: string, keys: readonly RecordKey[]): Statement[] {
  if (keys.length === 0) return [];
  const text = `DELETE FROM records WHERE ctid = ANY (ARRAY(
    SELECT r.place FROM (SELECT {0} AS collection, {1} AS id) AS k
    CROSS JOIN LATERAL (
      SELECT r.ctid AS place FROM records AS r
      WHERE r.space = $1 AND r.collection = k.collection AND r.id = k.id OFFSET 0
    ) AS r)) AND ${CONDITION}`;
  return [
    rowsStatement(
      text,
      [space],
      [
        ['text', keys.map(({ collection }) => collection)],
        ['text', keys.map(({ id }) => id)],
      ],
    ),
  ];
}

/** An unchanged body is not rewritten: the server writes no new copy of a large one. */
const updateByKey = `UPDATE records AS r SET head = k.head, due = k.due, hidden = k.hidden,
    listing_group = k.listing_group, listing_id = k.listing_id, indexes = k.indexes,
    body = CASE WHEN k.body_kept THEN r.body ELSE k.body END
  FROM (SELECT k.*, r.place FROM
    (SELECT {0} AS collection, {1} AS id, {2} AS head, {3} AS listing_group, {4} AS listing_id, {5} AS hidden,
      {6} AS indexes, {7} AS due, {8} AS body, {9} AS body_kept) AS k
    CROSS JOIN LATERAL (
      SELECT r.ctid AS place FROM records AS r
      WHERE r.space = $1 AND r.collection = k.collection AND r.id = k.id OFFSET 0
    ) AS r
  ) AS k
  WHERE r.ctid = k.place AND ${CONDITION} RETURNING 1`;

/** In the order of the keys, in which all transactions lock. */
function updateRecords(space: string, updates: Plan['updates']): Statement[] {
  if (updates.length === 0) return [];
  const sorted = updates.toSorted((left, right) => compareKeys(left.row, right.row));
  const records = sorted.map(({ row, record }) => ({
    ...record,
    key: keyOf(row),
    listing: record.listing === undefined ? listingOf(row) : record.listing,
  }));
  const kept: Column = ['boolean', records.map(({ body }) => body === undefined)];
  return [rowsStatement(updateByKey, [space], [...recordColumns(records), kept])];
}

/**
 * In the order of the keys, so that no two transactions wait for each other. A key that only has to stay absent is created
 * with the others and removed at once: the unique index makes rivals wait, and no reader sees it.
 */
function insertRecords(
  space: string,
  creates: readonly RecordData[],
  absent: readonly RecordKey[],
): Statement[] {
  const records = [...creates, ...absent.map((key): RecordData => ({ key, head: {} }))];
  if (records.length === 0) return [];
  records.sort((left, right) => compareKeys(left.key, right.key));
  const text = `INSERT INTO records
    (space, collection, id, head, listing_group, listing_id, hidden, indexes, due, body, parts, part_bytes)
    SELECT $1::bigint, {0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10} WHERE ${CONDITION}`;
  const places = records.map(({ parts = [] }) =>
    parts.length === 0 ? null : JSON.stringify(parts.map((part) => [part.of, part.order])),
  );
  const bytes = records.map(({ parts = [] }) =>
    parts.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0),
  );
  return [rowsStatement(text, [space], [...recordColumns(records), ['text', places], ['bigint', bytes]])];
}

function recordColumns(records: readonly RecordData[]): Column[] {
  const listings = records.map(({ listing }) => listing ?? null);
  return [
    ['text', records.map(({ key }) => key.collection)],
    ['text', records.map(({ key }) => key.id)],
    ['text', records.map(({ head }) => JSON.stringify(head))],
    ['text', listings.map((listing) => listing?.group ?? null)],
    ['text', listings.map((listing) => listing?.id ?? '')],
    ['boolean', listings.map((listing) => listing?.hidden ?? false)],
    ['text', listings.map((listing) => (listing === null ? null : JSON.stringify(listing.indexes)))],
    ['bigint', records.map(({ due }) => due ?? null)],
    ['text', records.map(({ body }) => body ?? null)],
  ];
}
