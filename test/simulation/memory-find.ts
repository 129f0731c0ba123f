import type { RecordData } from '../../functions/store/port.ts';
import type {
  Among,
  FindPage,
  FindRequest,
  FoundEntries,
  FoundNearest,
  Metric,
  NearestRequest,
  SearchEntry,
  TermRequest,
} from '../../functions/store/search.ts';
import type { Stored } from './memory-database.ts';
import { compareUtf8 } from './memory-list.ts';

interface Entry {
  readonly record: Required<Omit<RecordData, 'keptOutside'>>;
  readonly search: SearchEntry;
}

/** The finds that the port promises, by brute force: providers are compared with it. */
export function findRecords(stored: readonly Stored[], request: FindRequest): FindPage {
  const entries = stored.flatMap(({ record }): Entry[] => {
    const { search, key } = record;
    const isAsked = key.collection === request.collection && search?.group === request.group;
    return isAsked && search !== null ? [{ record, search }] : [];
  });
  if (request.by === 'nearest') return nearestOf(entries, request);
  if (request.by === 'term') return entriesOf(entries, request);
  const countOf = (term: string) => entries.filter(({ search }) => search.terms.includes(term)).length;
  return { counts: request.terms.map((term) => Math.min(request.max, countOf(term))) };
}

function entriesOf(entries: readonly Entry[], { term, after, limit }: TermRequest): FoundEntries {
  const found = entries
    .filter(({ search }) => search.terms.includes(term))
    .map(({ record, search: { orderKey, lexicon } }) => ({ id: record.key.id, orderKey, lexicon }))
    .filter(({ orderKey }) => after === undefined || compareUtf8(orderKey, after) > 0)
    .sort((left, right) => compareUtf8(left.orderKey, right.orderKey));
  const page = found.slice(0, limit);
  return { entries: page, next: page.length === found.length ? null : (page.at(-1)?.orderKey ?? null) };
}

function nearestOf(entries: readonly Entry[], request: NearestRequest): FoundNearest {
  const { among, slot, metric, values, limit } = request;
  const matches = entries
    .filter(({ record }) => among === undefined || isAmong(record, among))
    .flatMap(({ record, search }) => {
      const vector = search.vectors.find((each) => each.slot === slot);
      if (vector === undefined) return [];
      const score = scoreOf(metric, values, vector.values);
      return [{ id: record.key.id, score, listingId: record.listing?.id ?? '' }];
    })
    .sort((left, right) => right.score - left.score || compareUtf8(left.listingId, right.listingId))
    .slice(0, limit)
    .map(({ id, score }) => ({ id, score }));
  return { matches, complete: true, narrowed: among !== undefined, reads: 0 };
}

function isAmong(
  { listing }: Required<Omit<RecordData, 'keptOutside'>>,
  { equal = {}, range, idPrefixes }: Among,
): boolean {
  if (listing === null) return false;
  if (!Object.entries(equal).every(([name, value]) => listing.indexes[name] === value)) return false;
  if (idPrefixes !== undefined && !idPrefixes.some((prefix) => listing.id.startsWith(prefix))) return false;
  if (range === undefined) return true;
  const value = listing.indexes[range.index];
  if (value === undefined) return false;
  if (range.from !== undefined && compareUtf8(value, range.from) < 0) return false;
  return range.to === undefined || compareUtf8(value, range.to) <= 0;
}

/** Sums of doubles in the order of the dimensions, rounded to a float32 once. */
export function scoreOf(metric: Metric, left: Float32Array, right: Float32Array): number {
  let [dot, leftSquares, rightSquares, distance] = [0, 0, 0, 0];
  for (const [n, l] of left.entries()) {
    const r = right[n] ?? 0;
    dot += l * r;
    leftSquares += l * l;
    rightSquares += r * r;
    distance += (l - r) * (l - r);
  }
  if (metric === 'euclidean') return Math.fround(1 / (1 + Math.sqrt(distance)));
  // Adding 0 makes a negative zero a positive one.
  if (metric === 'dotProduct') return Math.fround(dot) + 0;
  if (leftSquares === 0 || rightSquares === 0) return 0;
  return Math.fround(dot / (Math.sqrt(leftSquares) * Math.sqrt(rightSquares))) + 0;
}
