import type { FoundNearest, NearestRequest } from '../search.ts';
import { similarity } from '../similarity.ts';
import { BestMatches } from './best-matches.ts';
import { floatsOf } from './float-bytes.ts';
import type { VectorRows } from './vector-rows.ts';

/** Values that one page reads at most, in about two milliseconds; the other calls of the process get their turn after each. */
const VALUES_A_PAGE = 49_152;

/** Rows of a page, of which a long vector makes fewer. */
export function rowsPerPage(dimensions: number): number {
  return Math.max(16, Math.min(2000, Math.floor(VALUES_A_PAGE / dimensions)));
}

/** Reads every vector of the slot and scores it. Its answer is not complete where that takes more than `readsMax` reads. */
export async function scanExactly(
  rows: VectorRows,
  request: NearestRequest,
  turn: () => Promise<void>,
): Promise<FoundNearest> {
  const { metric, values, limit, readsMax } = request;
  const best = new BestMatches(limit);
  const perPage = rowsPerPage(values.length);
  let reads = 0;
  for (let after = 0; ; ) {
    const page = await rows.changes(after, perPage);
    for (const { id, values: bytes } of page) {
      if (bytes === null) continue;
      if (reads === readsMax) return { matches: [], complete: false, narrowed: false, reads };
      reads += 1;
      best.offer(id, similarity(metric, floatsOf(bytes, values.length), values));
    }
    await best.prune(rows);
    if (page.length < perPage) break;
    after = page.at(-1)!.version;
    await turn();
  }
  return { matches: await best.result(rows), complete: true, narrowed: false, reads };
}
