import { FieldPath, type Query, type QueryDocumentSnapshot } from '@google-cloud/firestore';
import { checkGroup } from '../grouping.ts';
import type { ListSelection, RecordData, RecordPage, Scope } from '../port.ts';
import { driversOf, type EntryWalk, matches, sortKey } from './entries.ts';
import { collectionPath } from './layout.ts';
import { type ReadTime, reading, runAt } from './read.ts';
import { listFieldsOf, listingOf, recordOf, storedOf } from './records.ts';
import type { Session } from './session.ts';

/** The most documents that one page reads when its driver is not exact. */
const scanBudget = 1000;
const scanStep = 200;
const countMax = 1000;

/** Where a page ended: the driver that its list walks (all pages walk the same), the sort key and the record. */
type Place = readonly [driver: string, sortKey: string, recordId: string];

export async function listRecords(
  session: Session,
  scope: Scope,
  generation: string,
  selection: ListSelection,
  at: ReadTime = {},
): Promise<RecordPage> {
  checkGroup(selection);
  const { view = 'body' } = selection;
  const collection = collectionPath(scope, generation, selection.collection.name);
  const after = selection.after === undefined ? undefined : placeOf(selection.after);
  const driver = await chooseDriver(session, collection, selection, after);
  const field = new FieldPath('order', driver.token);
  const found: RecordData[] = [];
  let last = after;
  let lastFound = after;
  for (let scanned = 0; scanned < scanBudget; ) {
    const wanted = selection.limit + 1 - found.length;
    const step = driver.exact ? wanted : Math.min(scanBudget - scanned, Math.max(scanStep, wanted));
    const ordered = walk(session, collection, selection, driver, last).limit(step);
    const snapshot = await runAt(session, ordered.select(...listFieldsOf(view), field), at);
    for (const document of snapshot.docs) {
      last = [driver.token, String(document.get(field)), document.id];
      const record = matching(document, selection);
      if (record === undefined) continue;
      if (found.length === selection.limit) return { records: found, next: cursorOf(lastFound) };
      found.push(record);
      lastFound = last;
    }
    if (snapshot.size < step) return { records: found, next: null };
    scanned += snapshot.size;
  }
  return { records: found, next: cursorOf(last) };
}

function walk(
  session: Session,
  collection: string,
  selection: ListSelection,
  driver: EntryWalk,
  after: Place | undefined,
): Query {
  const { direction = 'ascending' } = selection;
  const begin = beginOf(selection, driver);
  const field = new FieldPath('order', driver.token);
  const way = direction === 'ascending' ? 'asc' : 'desc';
  let query: Query = session.db.collection(collection);
  if (driver.from !== undefined) query = query.where(field, '>=', driver.from);
  if (driver.below !== undefined) query = query.where(field, '<', driver.below);
  query = query.orderBy(field, way).orderBy(FieldPath.documentId(), way);
  if (after !== undefined) return query.startAfter(after[1], after[2]);
  return begin === undefined ? query : query.startAfter(begin);
}

/** The sort key at which a list starts: an equality puts its value in front of the id. */
function beginOf({ afterId }: ListSelection, { from }: EntryWalk): string | undefined {
  if (afterId === undefined) return undefined;
  return from === undefined ? afterId : sortKey(from, afterId);
}

/**
 * With one driver no question arises. With several equalities, each is counted up to a bound (about one billed read
 * each), because the wrong one may find thousands of records in vain, page after page; later pages follow the cursor.
 */
async function chooseDriver(
  session: Session,
  collection: string,
  selection: ListSelection,
  after: Place | undefined,
): Promise<EntryWalk> {
  const drivers = driversOf(selection, session.paired(selection.collection.name));
  const [first] = drivers;
  const before = drivers.find((driver) => driver.token === after?.[0]);
  if (before !== undefined || drivers.length === 1) return before ?? first;
  const counts = await Promise.all(
    drivers.map((driver) => {
      const counted = walk(session, collection, selection, driver, after).limit(countMax).count();
      return reading(session, counted.get());
    }),
  );
  const sizes = counts.map((snapshot) => snapshot.data().count);
  return drivers[sizes.indexOf(Math.min(...sizes))] ?? first;
}

function matching(document: QueryDocumentSnapshot, selection: ListSelection): RecordData | undefined {
  const stored = storedOf(document, { collection: selection.collection.name, id: document.id });
  if (stored === undefined) return undefined;
  if (!matches(listingOf(stored.fields), selection)) return undefined;
  return recordOf(stored, selection.view ?? 'body');
}

function cursorOf(place: Place | undefined): string | null {
  return place === undefined ? null : JSON.stringify(place);
}

function placeOf(cursor: string): Place {
  const [driver, key, recordId] = JSON.parse(cursor) as Place;
  return [driver, key, recordId];
}
