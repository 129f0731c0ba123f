import { FieldPath, type Query } from '@google-cloud/firestore';
import { checkGroup } from '../grouping.ts';
import type { CountPage, CountSelection, Scope } from '../port.ts';
import { afterPrefix } from '../prefixes.ts';
import { driversOf, type EntryWalk, matches, sortKey } from './entries.ts';
import { collectionPath } from './layout.ts';
import { countAt, type Fixed, runAt } from './read.ts';
import { listingOf, storedOf } from './records.ts';
import type { Session } from './session.ts';

/** Documents of one page of a count by several conditions. */
const pageMax = 500;
/** Each driver is counted so far before the least one is walked: one billed read. */
const comparedMax = 1_000;
/** Firestore bills a count as one read for this many index entries. */
const countedPerRead = 1_000;
const listingFields = ['head', 'group', 'listingId', 'hidden', 'indexes'];

/** The driver that all pages of a count walk, and where the last page ended. */
type Place = readonly [driver: string, sortKey: string, recordId: string];

/**
 * The index alone counts a selection with at most one condition. No index covers several conditions, so the count reads
 * the listings that the rarest condition finds. Tokens of one group collide once in 2^48 pairs, and a wrong count would
 * need the same value under both.
 */
export async function countRecords(
  session: Session,
  scope: Scope,
  fixed: Fixed,
  selection: CountSelection,
): Promise<CountPage> {
  const list = { by: 'list', limit: pageMax, ...selection } as const;
  checkGroup(list);
  const { max, after, collection, idPrefix } = selection;
  const path = collectionPath(scope, fixed.state.generation, collection.name);
  const drivers = driversOf(list, session.paired(collection.name));
  const countOf = (driver: EntryWalk, most: number) =>
    countAt(session, walk(session, path, driver, idPrefix).limit(most), fixed.at);
  const [first, ...others] = drivers;
  if (others.length === 0) {
    const count = max <= 0 ? 0 : await countOf(first, max);
    return { count, next: null, reads: Math.max(1, Math.ceil(count / countedPerRead)) };
  }
  if (after === undefined) {
    const driver = await rarest(drivers, (each) => countOf(each, comparedMax));
    const page = await countPage(session, walk(session, path, driver, idPrefix), driver, selection, fixed);
    return { ...page, reads: page.reads + drivers.length };
  }
  const [token, ...place] = JSON.parse(after) as Place;
  const driver = drivers.find((each) => each.token === token) ?? first;
  const query = walk(session, path, driver, idPrefix).startAfter(...place);
  return countPage(session, query, driver, selection, fixed);
}

/** Reads the listings of one page of the driver's entries. */
async function countPage(
  session: Session,
  query: Query,
  driver: EntryWalk,
  selection: CountSelection,
  { at }: Fixed,
): Promise<CountPage> {
  const field = new FieldPath('order', driver.token);
  const { docs } = await runAt(session, query.select(...listingFields, field).limit(pageMax), { at });
  const count = docs.filter((document) => {
    const stored = storedOf(document, { collection: selection.collection.name, id: document.id });
    return (
      stored !== undefined && matches(listingOf(stored.fields), { by: 'list', limit: pageMax, ...selection })
    );
  }).length;
  const last = docs.length < pageMax ? undefined : docs.at(-1);
  const place =
    last === undefined ? null : ([driver.token, String(last.get(field)), last.id] satisfies Place);
  return { count, next: place === null ? null : JSON.stringify(place), reads: Math.max(1, docs.length) };
}

async function rarest(
  drivers: readonly [EntryWalk, ...EntryWalk[]],
  countOf: (driver: EntryWalk) => Promise<number>,
): Promise<EntryWalk> {
  const counts = await Promise.all(drivers.map(countOf));
  return drivers[counts.indexOf(Math.min(...counts))] ?? drivers[0];
}

/** Queries the driver's entries within the prefix of listing ids. An equality puts its value in front of the id. */
function walk(session: Session, collection: string, driver: EntryWalk, idPrefix: string | undefined): Query {
  const field = new FieldPath('order', driver.token);
  const keyOf = (id: string) => (driver.from === undefined ? id : sortKey(driver.from, id));
  const end = idPrefix === undefined ? undefined : afterPrefix(idPrefix);
  const from = idPrefix === undefined ? driver.from : keyOf(idPrefix);
  const below = end === undefined ? driver.below : keyOf(end);
  let query: Query = session.db.collection(collection);
  if (from !== undefined) query = query.where(field, '>', from);
  if (below !== undefined) query = query.where(field, '<', below);
  return query.orderBy(field).orderBy(FieldPath.documentId());
}
