import type { Collection, Find, Moment, RecordData, RecordStore, Scope } from '../../functions/store/port.ts';
import { recordId } from '../../functions/store/record-id.ts';
import type {
  FoundNearest,
  Metric,
  NearestRequest,
  SearchEntry,
  SearchVector,
} from '../../functions/store/search.ts';
import { grouped, randomScope } from './store-fixtures.ts';

export const group = 'a'.repeat(32);
export const otherGroup = 'b'.repeat(32);
export const otherCollection: Collection = { name: 'drafts', pairedIndexes: false, listedByGroup: true };

/** A check gets two stores over one database. */
export type FindCheck = (store: RecordStore, other: RecordStore) => Promise<void>;

export function spaceScope(): Scope {
  return { ...randomScope(), kind: 'spaces' };
}

export function idOf(name: string): string {
  return recordId('find', name);
}

export interface Searched {
  readonly terms?: readonly string[];
  readonly vectors?: readonly SearchVector[];
  readonly group?: string;
  readonly lexicon?: string;
  /** The record id where absent. */
  readonly orderKey?: string;
  readonly collection?: Collection;
  readonly listingId?: string;
  readonly indexes?: Readonly<Record<string, string>>;
  readonly head?: RecordData['head'];
}

/** A record without a search entry. */
export function unsearched(name: string, parts: Searched = {}): RecordData {
  const { collection = grouped, listingId = `p\u0001${name}`, indexes = {}, head = {} } = parts;
  const listing = { group: parts.group ?? group, id: listingId, hidden: false, indexes };
  return { key: { collection: collection.name, id: idOf(name) }, head, body: `{"name":"${name}"}`, listing };
}

export function searched(name: string, parts: Searched = {}): RecordData {
  return { ...unsearched(name, parts), search: entryOf(name, parts) };
}

function entryOf(name: string, parts: Searched): SearchEntry {
  const { terms = [], vectors = [], lexicon = `lexicon of ${name}: ü😀`, orderKey = idOf(name) } = parts;
  return { group: parts.group ?? group, terms, orderKey, lexicon, vectors };
}

export function vector(slot: string, metric: Metric, ...values: number[]): SearchVector {
  return { slot, metric, values: Float32Array.from(values) };
}

export function findIn(moment: Moment): Find {
  return moment.find;
}

export interface Place {
  readonly group?: string;
  readonly collection?: Collection;
}

export function countsOf(
  store: RecordStore,
  scope: Scope,
  terms: readonly string[],
  { max = 1_000, ...place }: Place & { readonly max?: number } = {},
): Promise<readonly number[]> {
  const request = { by: 'counts', ...placeOf(place), terms, max } as const;
  return store.snapshot(scope, async (moment) => (await findIn(moment)(request)).counts);
}

/** The record ids on all pages of a term. */
export async function holdersOf(
  store: RecordStore,
  scope: Scope,
  term: string,
  { limit = 2, ...place }: Place & { readonly limit?: number } = {},
): Promise<string[]> {
  const ids: string[] = [];
  let after: string | undefined;
  for (;;) {
    const from = after === undefined ? {} : { after };
    const request = { by: 'term', ...placeOf(place), term, limit, ...from } as const;
    const page = await store.snapshot(scope, (moment) => findIn(moment)(request));
    if (page.entries.length > limit) throw new Error('a page holds more than its limit');
    if (page.next === after) throw new Error('a page ends where it begins');
    ids.push(...page.entries.map(({ id }) => id));
    if (page.next === null) return ids;
    after = page.next;
  }
}

export type Asked = Partial<NearestRequest> & Pick<NearestRequest, 'slot' | 'metric' | 'values'>;

export function nearestTo(store: RecordStore, scope: Scope, asked: Asked): Promise<FoundNearest> {
  const defaults = { by: 'nearest', collection: grouped.name, group, limit: 100, readsMax: 100_000 } as const;
  return store.snapshot(scope, (moment) => findIn(moment)({ ...defaults, ...asked }));
}

/** In the order of the port where each record has its id for an order key: that of hexadecimal digits. */
export function idsOf(...names: readonly string[]): string[] {
  return names.map(idOf).sort();
}

function placeOf(place: Place): { readonly collection: string; readonly group: string } {
  return { collection: (place.collection ?? grouped).name, group: place.group ?? group };
}
