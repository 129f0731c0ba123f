import { inTurns, type Turns } from '../kernel/turns.ts';
import { type RecordData, StoreError } from '../store/port.ts';
import { sweepIn } from './entry-range.ts';
import type { RecordParts } from './parts.ts';
import type { RecordSearch } from './search/entry.ts';
import type { EntryFormat } from './search/formats.ts';
import { policyKey, RECORDS, spaceScope } from './store-collections.ts';
import type { StoredCollection } from './stored-collection.ts';
import { storedSearch, withTermsLeftOut } from './stored-record.ts';
import { scaleOf, searchWeight, WEIGHT_MAX } from './write-weight.ts';

/** The largest records make 46 MB. */
const PAGE = 50;

export interface ReindexedPage {
  readonly records: number;
  /** The order key of the last record; `null` where none is left. */
  readonly last: string | null;
}

/** A sweep as the policy record names it. */
export interface NamedSweep {
  readonly collection: StoredCollection;
  readonly format: EntryFormat;
  readonly run: string;
}

interface Prepared {
  readonly record: RecordData;
  readonly search: RecordSearch;
}

/** Writes search entries for the records after the order key `after`, as many as fit one transaction; none if the sweep has ended. */
export async function reindexPage(
  parts: RecordParts,
  space: string,
  sweep: NamedSweep,
  after: string | null,
): Promise<ReindexedPage> {
  const store = await parts.store();
  const begin = after === null ? {} : { afterId: after };
  const group = sweep.collection.incarnation;
  const selection = { by: 'list', collection: RECORDS, group, limit: PAGE, ...begin } as const;
  const { records, next } = await store.query(spaceScope(space), selection);
  if (records.length === 0) {
    // A provider whose scan budget is used up answers an empty page although more records follow.
    if (next !== null) throw new StoreError('unavailable', 'a page of a collection is empty');
    return { records: 0, last: null };
  }
  const prepared = await prepare(parts, parts.world.turns.of(space), records, sweep);
  for (let count = prepared.length; ; count = Math.ceil(count / 2)) {
    const some = prepared.slice(0, count);
    try {
      const written = await writeEntries(parts, space, sweep, some);
      if (written === null) return { records: 0, last: null };
      return { records: written, last: some.at(-1)?.record.listing?.id ?? '' };
    } catch (error) {
      const isTooLarge = error instanceof StoreError && error.failure === 'too_large';
      if (!isTooLarge || count === 1) throw error;
    }
  }
}

/** The first of the records, as many as one transaction carries. */
async function prepare(
  { store }: RecordParts,
  turns: Turns,
  records: readonly RecordData[],
  { collection, format }: NamedSweep,
): Promise<Prepared[]> {
  const scale = scaleOf(await store());
  const prepared: Prepared[] = [];
  let weight = 0;
  for (const record of records) {
    const search = await inTurns(storedSearch(collection, record, format), turns);
    weight += searchWeight(search.entry, scale);
    if (prepared.length > 0 && weight > WEIGHT_MAX) break;
    prepared.push({ record, search });
    if (turns.due()) await turns.next();
  }
  return prepared;
}

/** Skips records that were written or deleted since the read: a later write made its own entry. Returns `null` if the sweep has ended. */
async function writeEntries(
  parts: RecordParts,
  space: string,
  { collection, format, run }: NamedSweep,
  prepared: readonly Prepared[],
): Promise<number | null> {
  const place = policyKey(collection.name);
  const ofRecords = prepared.map(({ record: { key } }) => ({ key, view: 'body' as const }));
  const store = await parts.store();
  // Guard the write: a delayed process must not write beside a later sweep.
  return store.transact(spaceScope(space), { keys: [{ key: place }, ...ofRecords] }, (found) => {
    const policy = found.get(place);
    if (policy === undefined || sweepIn(policy.head, format.version) !== run)
      return { writes: [], result: null };
    const writes = prepared.flatMap(({ record: { key, body }, search }) => {
      const stored = found.get(key);
      // The entry follows from the text alone: a new revision with the same text has the same entry.
      if (stored === undefined || stored.body !== body) return [];
      return [{ put: { key, head: withTermsLeftOut(stored.head, search), search: search.entry } }];
    });
    return { writes, result: writes.length };
  });
}
