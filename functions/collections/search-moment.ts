import type { Moment } from '../store/port.ts';
import { rangeIn } from './entry-range.ts';
import type { RecordParts } from './parts.ts';
import type { rankRecords } from './rank-records.ts';
import { ReadBudget } from './read-budget.ts';
import { type AttemptBytes, attemptsOf, type ReadCall } from './read-call.ts';
import type { ReadLane } from './read-lanes.ts';
import { policyAt } from './read-policy.ts';
import type { EntryFormat } from './search/formats.ts';
import { KeptTexts, type SearchReader } from './search-reader.ts';
import { type RecordSearchQuery, readSearch, type SearchRequest } from './search-request.ts';
import { announceOutdated, StaleEntries } from './stale-entries.ts';
import { spaceScope } from './store-collections.ts';
import { collectionOf, type StoredCollection } from './stored-collection.ts';

const CANDIDATES_DEFAULT = 5_000;

/** Loaded by the first search: a server that only lists records never loads it. */
let rankLoaded: typeof rankRecords | undefined;

/** A collection as of one moment, in which several searches see the same records. */
export interface SearchMoment {
  readonly collection: StoredCollection;
  /** Checks a request that ranks. Throws as `readSearch` does. */
  read(request: SearchRequest, pointer?: string): RecordSearchQuery;
  /** A reader with its own budget. */
  reader(advice: string): SearchReader;
  readonly rank: typeof rankRecords;
}

/** Answers from one moment of a collection. Throws the refusal of an absent collection, and what `answer` throws. */
export async function inSearchMoment<Answer>(
  parts: RecordParts,
  space: string,
  name: string,
  answer: (at: SearchMoment) => Promise<Answer>,
  call: ReadCall = {},
): Promise<Answer> {
  // Before the moment begins, which holds a connection. Only the first search waits for it.
  rankLoaded ??= (await import('./rank-records.ts')).rankRecords;
  const rank = rankLoaded;
  const store = await parts.store();
  const attempt = attemptsOf(call);
  const answerIn = (lane: ReadLane) =>
    store.snapshot(spaceScope(space), async (moment) => {
      const policy = await policyAt(moment, name);
      const collection = collectionOf(policy);
      const formats = parts.entries.formatsIn(rangeIn(policy.head));
      if (formats === null) throw new StaleEntries(collection);
      const at = searchMoment(parts, space, collection, { moment, lane, bytes: attempt(), formats, rank });
      return { answered: await answer(at), collection, head: policy.head };
    });
  try {
    const { answered, ...seen } = await parts.lanes.run(space, answerIn, call);
    await announceOutdated(parts, space, seen);
    return answered;
  } catch (error) {
    if (error instanceof StaleEntries) await error.announce(parts, space);
    throw error;
  }
}

interface At {
  readonly moment: Moment;
  readonly lane: ReadLane;
  readonly bytes: AttemptBytes;
  readonly formats: readonly EntryFormat[];
  readonly rank: typeof rankRecords;
}

function searchMoment(
  { limits, world }: RecordParts,
  space: string,
  collection: StoredCollection,
  { moment, lane, bytes, formats, rank }: At,
): SearchMoment {
  const { lexicalCandidatesMax = CANDIDATES_DEFAULT } = limits;
  // The budget also covers the page of the answer.
  const readsMax = Math.max(limits.readsPerCallMax, limits.pageRecordsMax);
  return {
    collection,
    rank,
    read: (request, pointer) =>
      readSearch(request, collection.policy, { candidatesMax: lexicalCandidatesMax, formats, pointer }),
    reader(advice) {
      const turns = world.turns.of(space);
      return {
        moment,
        find: moment.find,
        incarnation: collection.incarnation,
        // The search walks the entries of each version.
        budget: new ReadBudget(readsMax * formats.length, advice, lane, 'search_budget_exceeded'),
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
        formats,
      };
    },
  };
}

/** The advice to a caller whose search needs too many reads. */
export function searchAdvice({ mode }: Pick<RecordSearchQuery, 'mode'>): string {
  return mode === 'vector'
    ? 'Name partition keys, ask for a smaller top, or use a filter that more records meet.'
    : 'Search for words that fewer records hold. With matchMode all, one such word suffices.';
}
