import type { NearestSearch } from '../nearest/nearest-search.ts';
import type { Find, Scope } from '../port.ts';
import type { FindPage, FindRequest, WordCountsReader } from '../search.ts';
import { CountsReader } from './search-counts.ts';
import { TermFinder } from './search-terms.ts';
import { type Read, SlotRows } from './search-vectors.ts';

/** All reads go through `read`, which holds them to one moment. */
export function finder(nearest: NearestSearch, scope: Scope, read: Read): Find {
  const terms = new TermFinder(scope, read, { turn: () => nearest.turn(scope.name) });
  const find = (request: FindRequest): Promise<FindPage> => {
    if (request.by === 'nearest') return nearest.find(new SlotRows(read, scope, request), request);
    return request.by === 'counts' ? terms.counts(request) : terms.entries(request);
  };
  return find as Find;
}

/** Reads the word counts of a scope. */
export function wordCounter(nearest: NearestSearch, scope: Scope, read: Read): WordCountsReader {
  return new CountsReader(scope, read, () => nearest.turn(scope.name));
}
