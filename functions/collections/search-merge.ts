import { compareUtf8 } from '../kernel/utf8-order.ts';
import type { NearestMatch } from '../store/search.ts';
import { orderKey } from './rules/record-key.ts';
import { recordValue } from './rules/stored-text.ts';
import { type SearchReader, textsOf } from './search-reader.ts';

/**
 * The first `limit` matches of lists without common records. Each list is ordered by descending score, then by the listing. A match
 * does not hold its place in the listing, so it is read for records with the same score in several lists.
 */
export async function mergedMatches(
  reader: SearchReader,
  lists: readonly (readonly NearestMatch[])[],
  limit: number,
): Promise<readonly NearestMatch[]> {
  const [only] = lists;
  if (lists.length === 1 && only !== undefined) return only;
  const all = lists.flat().sort((a, b) => b.score - a.score);
  const least = all[limit - 1]?.score ?? -Infinity;
  const reached = all.filter(({ score }) => score >= least);
  const keys = await orderKeysOf(reader, tiedOf(reached, lists));
  const orderOf = ({ id }: NearestMatch) => keys.get(id) ?? '';
  return reached.sort((a, b) => b.score - a.score || compareUtf8(orderOf(a), orderOf(b))).slice(0, limit);
}

/** The ids of matches whose score is in several lists. */
function tiedOf(
  matches: readonly NearestMatch[],
  lists: readonly (readonly NearestMatch[])[],
): readonly string[] {
  const listsOf = new Map<number, number>();
  for (const list of lists)
    for (const score of new Set(list.map((match) => match.score)))
      listsOf.set(score, (listsOf.get(score) ?? 0) + 1);
  return matches.filter(({ score }) => (listsOf.get(score) ?? 0) > 1).map(({ id }) => id);
}

async function orderKeysOf(
  reader: SearchReader,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const keys = new Map<string, string>();
  for await (const { id, stored } of textsOf(reader, ids))
    keys.set(id, orderKey(recordValue(stored, { vectors: false })));
  return keys;
}
