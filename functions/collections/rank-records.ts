import type { RankedRecord } from './search-answer.ts';
import { rankByWords } from './search-lexical.ts';
import type { SearchReader } from './search-reader.ts';
import type { RecordSearchQuery } from './search-request.ts';
import { rankByVector } from './search-vector.ts';

/** All matches of a search, the best first. `pageMost`: the most records of its answer. */
export function rankRecords(
  reader: SearchReader,
  search: RecordSearchQuery,
  pageMost: number,
): Promise<readonly RankedRecord[]> {
  return search.mode === 'vector'
    ? rankByVector(reader, search.query, search.vector)
    : rankByWords(reader, search.query, search.lexical, pageMost);
}
