import { entryName } from '../grouping.ts';
import type { Listing, RecordKey } from '../port.ts';
import type { Plan } from './plan.ts';
import { listingOf } from './rows.ts';
import type { Session } from './session.ts';
import { CONDITION, type Column, rowsStatement, type Statement } from './statement.ts';

/** How the entries of a collection are kept. */
export type EntryRules = Pick<Session, 'paired' | 'grouped'>;

interface Entry {
  readonly collection: string;
  readonly id: string;
  readonly name: string;
  readonly value: string;
  readonly listing: Listing;
}

export function changedEntries({ creates, updates, removes }: Plan): { gone: Entry[]; fresh: Entry[] } {
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

/** The statements find a row by its key and then change it by its place, so that the planner always uses the index. */
export function deleteEntries(
  space: string,
  entries: readonly Entry[],
  { grouped }: EntryRules,
): Statement[] {
  if (entries.length === 0) return [];
  const text = `DELETE FROM entries WHERE ctid = ANY (ARRAY(
    SELECT e.place FROM (SELECT {0} AS collection, {1} AS name, {2} AS value, {3} AS listing_group, {4} AS listing_id) AS k
    CROSS JOIN LATERAL (
      SELECT e.ctid AS place FROM entries AS e
      WHERE e.space = $1 AND e.collection = k.collection AND e.name = k.name AND e.value = k.value
        AND e.listing_group = k.listing_group AND e.listing_id = k.listing_id OFFSET 0
    ) AS e)) AND ${CONDITION}`;
  return [rowsStatement(text, [space], placeColumns(entries, grouped))];
}

export function insertEntries(
  space: string,
  entries: readonly Entry[],
  { paired, grouped }: EntryRules,
): Statement[] {
  if (entries.length === 0) return [];
  const text = `INSERT INTO entries
    (space, collection, name, value, listing_group, listing_id, id, paired)
    SELECT $1::bigint, {0}, {1}, {2}, {3}, {4}, {5}, {6} WHERE ${CONDITION}`;
  const ids: Column = ['text', entries.map(({ id }) => id)];
  const pairs: Column = ['boolean', entries.map(({ collection }) => paired(collection))];
  return [rowsStatement(text, [space], [...placeColumns(entries, grouped), ids, pairs])];
}

function placeColumns(entries: readonly Entry[], grouped: ReadonlySet<string>): Column[] {
  const names = entries.map(({ collection, name, listing }) =>
    entryName(grouped.has(collection), listing.group, name),
  );
  return [
    ['text', entries.map(({ collection }) => collection)],
    ['text', names],
    ['text', entries.map(({ value }) => value)],
    ['text', entries.map(({ listing }) => listing.group)],
    ['text', entries.map(({ listing }) => listing.id)],
  ];
}
