import type { Among, NearestMatch } from '../store/search.ts';
import { isAdmitted } from './judge-records.ts';
import type { RecordQuery } from './page-request.ts';
import { vectorDiagnostics } from './search/diagnostics.ts';
import { isNear, type VectorQuery } from './search/vector-query.ts';
import { amongOf } from './search-among.ts';
import type { RankedRecord } from './search-answer.ts';
import { IndexWalk, MATCH_BYTES } from './search-index-walk.ts';
import { mergedMatches } from './search-merge.ts';
import { type SearchReader, textsOf } from './search-reader.ts';
import { RECORDS } from './store-collections.ts';

/** The records with the nearest vectors among those that meet the conditions of the query, the nearest first. */
export async function rankByVector(
  reader: SearchReader,
  query: RecordQuery,
  vector: VectorQuery,
): Promise<readonly RankedRecord[]> {
  const { partitionKeys, filter } = query.condition;
  const isConditional = partitionKeys !== null || filter !== null;
  const winners = isConditional ? await admitted(reader, query, vector) : await nearestOfAll(reader, vector);
  return winners.map(({ id, score }, index) => ({
    id,
    score,
    diagnose: (identity) =>
      vectorDiagnostics(vector, { returned: winners.length, rank: index + 1, score }, identity),
  }));
}

async function nearestOfAll(reader: SearchReader, vector: VectorQuery): Promise<readonly NearestMatch[]> {
  const { matches } = await nearest(reader, vector, vector.top, undefined);
  return matches.filter(({ score }) => isNear(score, vector));
}

/**
 * Judges the nearest records, and doubles their number while too few meet the conditions. If the store does not narrow the search,
 * it also judges as many records that an index finds; the search that ends first gives the answer.
 */
async function admitted(
  reader: SearchReader,
  query: RecordQuery,
  vector: VectorQuery,
): Promise<readonly NearestMatch[]> {
  const among = amongOf(query, reader.incarnation);
  const byIndex = query.driver.by === 'listing' ? null : new IndexWalk(reader, query, vector);
  const seen = new Set<string>();
  const winners: NearestMatch[] = [];
  for (let limit = vector.top; ; limit *= 2) {
    const { matches, isLast, isNarrowed } = await nearest(reader, vector, limit, among);
    const near = matches.filter(({ score }) => isNear(score, vector));
    const fresh = new Map(near.filter(({ id }) => !seen.has(id)).map((match) => [match.id, match]));
    for await (const { id, stored } of textsOf(reader, [...fresh.keys()])) {
      seen.add(id);
      if (await isAdmitted(reader, stored, query)) winners.push(fresh.get(id)!);
      if (winners.length === vector.top) return winners;
    }
    if (isLast || near.length < matches.length) return winners;
    if (byIndex !== null && !isNarrowed && (await byIndex.reachesEnd(seen.size))) return byIndex.best();
  }
}

interface Nearest {
  readonly matches: readonly NearestMatch[];
  /** Whether there are no others. */
  readonly isLast: boolean;
  /** Whether the store left out records that do not meet the conditions. */
  readonly isNarrowed: boolean;
}

async function nearest(
  reader: SearchReader,
  { slots, metric, values }: VectorQuery,
  wanted: number,
  among: Among | undefined,
): Promise<Nearest> {
  const { find, budget, bytes, incarnation } = reader;
  const limit = Math.min(wanted, budget.room());
  const narrowing = among === undefined ? {} : { among };
  const where = { collection: RECORDS.name, group: incarnation, metric, values, limit, ...narrowing };
  const lists: (readonly NearestMatch[])[] = [];
  let isNarrowed = true;
  for (const slot of slots) {
    const found = await find({ by: 'nearest', ...where, slot, readsMax: budget.room() });
    budget.spend(found.reads, 0);
    if (!found.complete) throw budget.exceeded();
    isNarrowed &&= found.narrowed;
    lists.push(found.matches);
  }
  const matches = await mergedMatches(reader, lists, limit);
  const isLast = matches.length < limit;
  if (!isLast && limit < wanted) throw budget.exceeded();
  bytes.add(matches.length * MATCH_BYTES);
  return { matches, isLast, isNarrowed };
}
