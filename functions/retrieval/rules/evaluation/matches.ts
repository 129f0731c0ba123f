import type { CollectionPlace } from '../merge.ts';
import { HeldSources, WantedKeys, type WantedSource, wantedSource } from './held-sources.ts';
import { idsOf, isNamed, type JudgedRecord, type MatchRequest } from './matching.ts';

/** A match with all compared members, read once. */
interface Prepared {
  readonly match: MatchRequest;
  readonly ids: readonly string[];
  readonly sources: readonly WantedSource[];
}

function* prepare(matches: readonly MatchRequest[]): Generator<void, readonly Prepared[]> {
  const prepared: Prepared[] = [];
  for (const match of matches) {
    const sources = new Map<string, WantedSource>();
    for (const each of match.sources ?? []) {
      const wanted = wantedSource(each);
      if (wanted !== null) sources.set(JSON.stringify(wanted), wanted);
    }
    prepared.push({ match, ids: [...new Set(idsOf(match))], sources: [...sources.values()] });
    yield;
  }
  return prepared;
}

/** For each match, whether it matches each record, in their orders. A step is a source of a record, or a comparison. */
export function* recordMatches(
  matches: readonly MatchRequest[],
  records: readonly JudgedRecord[],
): Generator<void, readonly (readonly boolean[])[]> {
  const prepared = yield* prepare(matches);
  const wanted = new WantedKeys();
  for (const { sources } of prepared) for (const source of sources) wanted.add(source, HERE);
  const rows: boolean[][] = prepared.map(() => []);
  for (const record of records) {
    const held = new HeldSources(wanted);
    for (const source of record.sources) {
      held.add(source, HERE);
      yield;
    }
    for (const [at, each] of prepared.entries()) {
      rows[at]!.push(isMatch(each, record, held));
      yield;
    }
  }
  return rows;
}

const HERE = [''];

function isMatch({ match, ids, sources }: Prepared, record: JudgedRecord, held: HeldSources): boolean {
  if (!isGivenAs(match.collection, record.collection)) return false;
  if (!isGivenAs(match.partitionKey, record.partitionKey)) return false;
  return ids.some((id) => record.names.has(id)) || sources.some((source) => held.holds(source, HERE));
}

function isGivenAs(wanted: string | null | undefined, actual: string): boolean {
  return !isNamed(wanted) || wanted === actual;
}

/**
 * The first hard negative that may match an expected record: both name a common id or source, and no different places; `null` if
 * there is none. Tests all of them together first, and halves the list only if some overlap.
 */
export function* firstOverlap(
  expected: readonly MatchRequest[],
  hardNegatives: readonly MatchRequest[],
): Generator<void, number | null> {
  const right = yield* prepare(expected);
  const wrong = yield* prepare(hardNegatives);
  const known = yield* heldBy(expected, right, wrong);
  const overlaps = function* (from: number, to: number): Generator<void, boolean> {
    const some = wrong.slice(from, to);
    if (yield* meets(some, known)) return true;
    return yield* meets(right, yield* heldBy(hardNegatives.slice(from, to), some, right));
  };
  let [low, high] = [0, wrong.length];
  if (!(yield* overlaps(low, high))) return null;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (yield* overlaps(low, middle)) high = middle;
    else low = middle;
  }
  return low;
}

interface HeldMatches {
  readonly ids: ReadonlySet<string>;
  readonly sources: HeldSources;
}

/** The ids and sources of matches, indexed for the lookups of `others`. */
function* heldBy(
  matches: readonly MatchRequest[],
  prepared: readonly Prepared[],
  others: readonly Prepared[],
): Generator<void, HeldMatches> {
  const wanted = new WantedKeys();
  for (const { match, sources } of others) {
    for (const source of sources) wanted.add(source, placesSought(match));
    yield;
  }
  const ids = new Set<string>();
  const sources = new HeldSources(wanted);
  for (const [at, match] of matches.entries()) {
    const places = placesFound(match);
    for (const id of prepared[at]?.ids ?? []) for (const place of places) ids.add(place + id);
    yield;
    for (const source of match.sources ?? []) {
      sources.add(source, places);
      yield;
    }
  }
  return { ids, sources };
}

function* meets(some: readonly Prepared[], { ids, sources }: HeldMatches): Generator<void, boolean> {
  for (const each of some) {
    const places = placesSought(each.match);
    if (each.ids.some((id) => places.some((place) => ids.has(place + id)))) return true;
    if (each.sources.some((source) => sources.holds(source, places))) return true;
    yield;
  }
  return false;
}

/** Stands for a collection or a partition of any name, and `null` for one that is not named. */
const ANY = 0;

type MatchPlace = Pick<MatchRequest, keyof CollectionPlace & keyof MatchRequest>;

/** The places under which a match is indexed: its own, and those of matches that name fewer members. */
function placesFound({ collection, partitionKey }: MatchPlace): readonly string[] {
  return placesOf([nameOf(collection), ANY], [nameOf(partitionKey), ANY]);
}

/** The places of a lookup: a member that the match does not name fits every value, and a named one also fits an absent one. */
function placesSought({ collection, partitionKey }: MatchPlace): readonly string[] {
  return placesOf(soughtNames(nameOf(collection)), soughtNames(nameOf(partitionKey)));
}

function soughtNames(name: string | null): readonly PlaceName[] {
  return name === null ? [ANY] : [name, null];
}

type PlaceName = string | null | typeof ANY;

function placesOf(collections: readonly PlaceName[], partitionKeys: readonly PlaceName[]): readonly string[] {
  return collections.flatMap((one) => partitionKeys.map((other) => JSON.stringify([one, other])));
}

function nameOf(name: string | null | undefined): string | null {
  return isNamed(name) ? name : null;
}
