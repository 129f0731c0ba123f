import { turnsOf } from '../kernel/turns.ts';
import type { Moment } from '../store/port.ts';
import { isSearchable } from './entry-version.ts';
import type { RecordParts } from './parts.ts';
import { policyAt, queryRecords } from './query-records.ts';
import { ReadBudget } from './read-budget.ts';
import { type AttemptBytes, attemptsOf, type ReadCall } from './read-call.ts';
import type { ReadLane } from './read-lanes.ts';
import { answerPage, matchJson, type SearchedPage } from './search-answer.ts';
import { rankByWords } from './search-lexical.ts';
import { KeptTexts, type SearchReader } from './search-reader.ts';
import { isRanked, type RecordSearchQuery, readSearch, type SearchRequest } from './search-request.ts';
import { rankByVector } from './search-vector.ts';
import { StaleEntries } from './stale-entries.ts';
import { spaceScope } from './store-collections.ts';
import { collectionOf, type StoredCollection } from './stored-collection.ts';

const CANDIDATES_DEFAULT = 5_000;
/** A page holds its matches beside a batch of texts: together they stay far below what a caller may hold. */
const PAGE_BYTES_MAX = 16 * 1024 * 1024;
/** A search holds the process no longer at a time, save for a page of entries and for the ranking of its candidates. */
const PART_MS = 4;

/** Answers a search as of one moment. Throws the refusal of the search, of its cost or of an absent collection. */
export async function searchRecords(
  parts: RecordParts,
  space: string,
  name: string,
  request: SearchRequest,
  call: ReadCall = {},
): Promise<SearchedPage> {
  if (!isRanked(request)) {
    const { records, continuationToken } = await queryRecords(parts, space, name, request, call);
    return { matches: records.map((record) => matchJson(record, '1', 'null')), continuationToken };
  }
  const store = await parts.store();
  const attempt = attemptsOf(call);
  const searchAll = (lane: ReadLane) =>
    store.snapshot(spaceScope(space), async (moment) => {
      const policy = await policyAt(moment, name);
      const collection = collectionOf(policy);
      if (!isSearchable(policy.head)) throw new StaleEntries(collection, policy.head);
      const bytes = attempt();
      const { lexicalCandidatesMax = CANDIDATES_DEFAULT } = parts.limits;
      const search = readSearch(request, collection.policy, lexicalCandidatesMax);
      return searchAt(parts, collection, search, { moment, lane, bytes });
    });
  try {
    return await parts.lanes.run(space, searchAll, call);
  } catch (error) {
    if (error instanceof StaleEntries) await error.announce(parts, space);
    throw error;
  }
}

interface At {
  readonly moment: Moment;
  readonly lane: ReadLane;
  readonly bytes: AttemptBytes;
}

async function searchAt(
  { limits, world }: RecordParts,
  { name, incarnation }: StoredCollection,
  search: RecordSearchQuery,
  { moment, lane, bytes }: At,
): Promise<SearchedPage> {
  const { query } = search;
  // The page of the answer is read beside what the search needs.
  const readsMax = Math.max(limits.readsPerCallMax, limits.pageRecordsMax);
  const turns = turnsOf(world.clock, PART_MS);
  const reader: SearchReader = {
    moment,
    find: moment.find,
    incarnation,
    budget: new ReadBudget(readsMax, adviceOf(search), lane, 'search_budget_exceeded'),
    turns: {
      due: turns.due,
      next: async () => {
        await turns.next();
        lane.checkClient();
      },
    },
    bytes,
    pageMax: limits.readPageMax,
    kept: new KeptTexts(),
  };
  const ranked =
    search.mode === 'vector'
      ? await rankByVector(reader, query, search.vector)
      : await rankByWords(reader, query, search.lexical, limits.pageRecordsMax);
  const most = { records: limits.pageRecordsMax, bytes: Math.min(limits.answerBytesMax, PAGE_BYTES_MAX) };
  return answerPage(reader, name, ranked, query.page, most);
}

function adviceOf({ mode }: RecordSearchQuery): string {
  return mode === 'vector'
    ? 'Name partition keys, ask for a smaller top, or use a filter that more records meet.'
    : 'Search for words that fewer records hold. With matchMode all, one such word suffices.';
}
