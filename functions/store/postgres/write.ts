import { entryName } from '../grouping.ts';
import { entrySize } from '../loading.ts';
import { type Listing, type RecordData, type RecordKey, StoreError } from '../port.ts';

import { arrayOf, type Statement, statement } from './connection.ts';
import type { Plan } from './plan.ts';
import { compareKeys, listingOf, partPlaces, type RecordRow } from './rows.ts';
import { searchWrites } from './search-write.ts';
import type { Session } from './session.ts';

/** How the entries of a collection are kept. */
export type EntryRules = Pick<Session, 'paired' | 'grouped'>;

/** Well below the gigabyte that a value may have in the server, even were every character three bytes. */
const charactersMax = 64 * 1024 * 1024;

/**
 * The statements of a plan. Removals go first, so that a record may take the listing id of one that leaves. The number of
 * statements does not grow with that of the records: values travel as arrays.
 */
export function writesOf(space: string, plan: Plan, session: EntryRules): Statement[] {
  const { creates, updates, removes, absent } = plan;
  assertFits(plan);
  const entries = changedEntries(plan);
  // Last: it locks the rows that all writers of a group share.
  const searches = plan.searched ? searchWrites(space, plan) : [];
  if (removes.length === 0 && absent.length === 0 && entries.gone.length === 0) {
    return [
      ...together([
        ...updateRecords(space, updates),
        ...insertEntries(space, entries.fresh, session),
        ...insertParts(space, creates),
        ...insertRecords(space, creates, []),
      ]),
      ...searches,
    ];
  }
  return [
    ...deleteEntries(space, entries.gone, session),
    ...deleteParts(space, removes),
    ...deleteRecords(space, removes.map(keyOf)),
    ...updateRecords(space, updates),
    ...insertRecords(space, creates, absent),
    ...deleteRecords(space, absent),
    ...insertEntries(space, entries.fresh, session),
    ...insertParts(space, creates),
    ...searches,
  ];
}

/**
 * Joins statements that need not see each other's effects. Most commits are such statements, and each one costs the server
 * as much as its rows. The server may take them in any order, and takes the last one first; so a race that is lost shows by
 * a record's key or by that of its parts.
 */
function together(statements: readonly Statement[]): Statement[] {
  let taken = 0;
  const texts = statements.map(({ text, values }) => {
    const before = taken;
    taken += values.length;
    return text.replace(/\$(\d+)/g, (_, number) => `$${Number(number) + before}`);
  });
  const last = texts.pop();
  if (last === undefined || texts.length === 0) return [...statements];
  const parts = texts.map((text, index) => `w${index} AS (${text})`);
  return [statement(`WITH ${parts.join(', ')} ${last}`, ...statements.flatMap(({ values }) => values))];
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

interface Entry {
  readonly collection: string;
  readonly id: string;
  readonly name: string;
  readonly value: string;
  readonly listing: Listing;
}

function changedEntries({ creates, updates, removes }: Plan): { gone: Entry[]; fresh: Entry[] } {
  const gone = removes.flatMap((row) => entriesOf(row, listingOf(row)));
  const fresh = creates.flatMap(({ key, listing = null }) => entriesOf(key, listing));
  for (const { row, record } of updates) {
    if (record.listing === undefined) continue;
    const before = new Map(entriesOf(row, listingOf(row)).map((entry) => [placeOf(entry), entry]));
    for (const entry of entriesOf(row, record.listing)) {
      if (!before.delete(placeOf(entry))) fresh.push(entry);
    }
    gone.push(...before.values());
  }
  return { gone, fresh };
}

/** Hidden records have no index entries, even where their listing names some. */
function entriesOf({ collection, id }: RecordKey, listing: Listing | null): Entry[] {
  if (listing === null || listing.hidden) return [];
  return Object.entries(listing.indexes).map(([name, value]) => ({ collection, id, name, value, listing }));
}

function placeOf({ name, value, listing }: Entry): string {
  return JSON.stringify([name, value, listing.group, listing.id]);
}

function keyOf({ collection, id }: RecordRow): RecordKey {
  return { collection, id };
}

/** What is deleted or updated is looked up by its key first and then by its place, which leaves the planner no choice. */
function deleteEntries(space: string, entries: readonly Entry[], { grouped }: EntryRules): Statement[] {
  if (entries.length === 0) return [];
  const text = `DELETE FROM entries WHERE ctid = ANY (ARRAY(
    SELECT e.place FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
      AS k (collection, name, value, listing_group, listing_id)
    CROSS JOIN LATERAL (
      SELECT e.ctid AS place FROM entries AS e
      WHERE e.space = $1 AND e.collection = k.collection AND e.name = k.name AND e.value = k.value
        AND e.listing_group = k.listing_group AND e.listing_id = k.listing_id OFFSET 0
    ) AS e))`;
  return [statement(text, space, ...placeColumns(entries, grouped))];
}

function insertEntries(
  space: string,
  entries: readonly Entry[],
  { paired, grouped }: EntryRules,
): Statement[] {
  if (entries.length === 0) return [];
  const text = `INSERT INTO entries
    (space, collection, name, value, listing_group, listing_id, id, paired)
    SELECT $1::bigint, * FROM
      unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[])`;
  const ids = arrayOf(entries.map(({ id }) => id));
  const pairs = arrayOf(entries.map(({ collection }) => paired(collection)));
  return [statement(text, space, ...placeColumns(entries, grouped), ids, pairs)];
}

function placeColumns(entries: readonly Entry[], grouped: ReadonlySet<string>): string[] {
  return [
    arrayOf(entries.map(({ collection }) => collection)),
    arrayOf(
      entries.map(({ collection, name, listing }) => entryName(grouped.has(collection), listing.group, name)),
    ),
    arrayOf(entries.map(({ value }) => value)),
    arrayOf(entries.map(({ listing }) => listing.group)),
    arrayOf(entries.map(({ listing }) => listing.id)),
  ];
}

function deleteParts(space: string, rows: readonly RecordRow[]): Statement[] {
  const places = rows.flatMap(partPlaces);
  if (places.length === 0) return [];
  const text = `DELETE FROM parts WHERE ctid = ANY (ARRAY(
    SELECT p.place FROM unnest($2::text[], $3::text[]) AS k (filed_under, part_order)
    CROSS JOIN LATERAL (
      SELECT p.ctid AS place FROM parts AS p
      WHERE p.space = $1 AND p.filed_under = k.filed_under AND p.part_order = k.part_order OFFSET 0
    ) AS p))`;
  return [
    statement(text, space, arrayOf(places.map(([of]) => of)), arrayOf(places.map(([, order]) => order))),
  ];
}

function insertParts(space: string, records: readonly RecordData[]): Statement[] {
  const parts = records.flatMap((record) => record.parts ?? []);
  if (parts.length === 0) return [];
  const text = `INSERT INTO parts (space, filed_under, part_order, body)
    SELECT $1::bigint, * FROM unnest($2::text[], $3::text[], $4::text[])`;
  return [
    statement(
      text,
      space,
      arrayOf(parts.map(({ of }) => of)),
      arrayOf(parts.map(({ order }) => order)),
      arrayOf(parts.map(({ body }) => body)),
    ),
  ];
}

function deleteRecords(space: string, keys: readonly RecordKey[]): Statement[] {
  if (keys.length === 0) return [];
  const text = `DELETE FROM records WHERE ctid = ANY (ARRAY(
    SELECT r.place FROM unnest($2::text[], $3::text[]) AS k (collection, id)
    CROSS JOIN LATERAL (
      SELECT r.ctid AS place FROM records AS r
      WHERE r.space = $1 AND r.collection = k.collection AND r.id = k.id OFFSET 0
    ) AS r))`;
  return [
    statement(
      text,
      space,
      arrayOf(keys.map(({ collection }) => collection)),
      arrayOf(keys.map(({ id }) => id)),
    ),
  ];
}

/** A body that is kept stays where it is: the server writes no new copy of a large one. */
function updateRecords(space: string, updates: Plan['updates']): Statement[] {
  if (updates.length === 0) return [];
  const text = `UPDATE records AS r SET head = k.head, due = k.due, hidden = k.hidden,
      listing_group = k.listing_group, listing_id = k.listing_id, indexes = k.indexes,
      body = CASE WHEN k.body_kept THEN r.body ELSE k.body END
    FROM (
      SELECT k.*, r.place FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[],
        $8::text[], $9::bigint[], $10::text[], $11::boolean[])
        AS k (collection, id, head, listing_group, listing_id, hidden, indexes, due, body, body_kept)
      CROSS JOIN LATERAL (
        SELECT r.ctid AS place FROM records AS r
        WHERE r.space = $1 AND r.collection = k.collection AND r.id = k.id OFFSET 0
      ) AS r
    ) AS k
    WHERE r.ctid = k.place`;
  const records = updates.map(({ row, record }) => ({
    ...record,
    key: keyOf(row),
    listing: record.listing === undefined ? listingOf(row) : record.listing,
  }));
  const kept = arrayOf(records.map(({ body }) => body === undefined));
  return [statement(text, space, ...recordColumns(records), kept)];
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
    SELECT $1::bigint, * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[],
      $8::text[], $9::bigint[], $10::text[], $11::text[], $12::bigint[])`;
  const places = records.map(({ parts = [] }) =>
    parts.length === 0 ? null : JSON.stringify(parts.map((part) => [part.of, part.order])),
  );
  const bytes = records.map(({ parts = [] }) =>
    parts.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0),
  );
  return [statement(text, space, ...recordColumns(records), arrayOf(places), arrayOf(bytes))];
}

function recordColumns(records: readonly RecordData[]): string[] {
  const listings = records.map(({ listing }) => listing ?? null);
  return [
    arrayOf(records.map(({ key }) => key.collection)),
    arrayOf(records.map(({ key }) => key.id)),
    arrayOf(records.map(({ head }) => JSON.stringify(head))),
    arrayOf(listings.map((listing) => listing?.group ?? null)),
    arrayOf(listings.map((listing) => listing?.id ?? '')),
    arrayOf(listings.map((listing) => listing?.hidden ?? false)),
    arrayOf(listings.map((listing) => (listing === null ? null : JSON.stringify(listing.indexes)))),
    arrayOf(records.map(({ due }) => due ?? null)),
    arrayOf(records.map(({ body }) => body ?? null)),
  ];
}
