import type { Moment } from '../store/port.ts';
import type { PositionOwner } from './cursor-memory.ts';
import { type FoundPage, findPage, type PageMost } from './find-page.ts';
import { type QueryRequest, type RecordQuery, readListing } from './page-request.ts';
import type { RecordParts } from './parts.ts';
import { ReadBudget } from './read-budget.ts';
import { type AttemptBytes, attemptsOf, type ReadCall } from './read-call.ts';
import type { ReadLane } from './read-lanes.ts';
import { collectionAt } from './read-policy.ts';
import { offsetToken } from './rules/offset-page.ts';
import { spaceScope } from './store-collections.ts';
import type { StoredCollection } from './stored-collection.ts';

export interface QueriedPage {
  /** The JSON texts of the records. */
  readonly records: readonly string[];
  readonly continuationToken: string | null;
}

/** Answers a query as of one moment. Throws the refusal of the query, of its cost or of an absent collection. */
export async function queryRecords(
  parts: RecordParts,
  space: string,
  name: string,
  request: QueryRequest,
  call: ReadCall = {},
): Promise<QueriedPage> {
  const { pageRecordsMax, answerBytesMax, readsPerCallMax } = parts.limits;
  // One more record than the page has is read, to know whether others follow.
  const recordsMax = Math.max(1, Math.min(pageRecordsMax, readsPerCallMax - 1));
  const { page } = await readAtOneMoment(parts, space, name, call, (collection, read) => {
    const query = readListing(request, collection.policy);
    const records = Math.min(query.page.limit ?? recordsMax, recordsMax);
    return read(query, { records, bytes: answerBytesMax });
  });
  return { records: page.records, continuationToken: tokenOf(page) };
}

export function tokenOf({ nextOffset }: FoundPage): string | null {
  return nextOffset === null ? null : offsetToken(nextOffset);
}

export type ReadPage = (query: RecordQuery, most: PageMost) => Promise<FoundPage>;

export interface ReadCollection {
  readonly collection: StoredCollection;
  readonly page: FoundPage;
}

/** Reads a collection and one page of its records at one moment. `choose` returns the page. */
export async function readAtOneMoment(
  parts: RecordParts,
  space: string,
  name: string,
  call: ReadCall,
  choose: (collection: StoredCollection, read: ReadPage) => Promise<FoundPage>,
): Promise<ReadCollection> {
  const store = await parts.store();
  const attempt = attemptsOf(call);
  const readAll = (lane: ReadLane) =>
    store.snapshot(spaceScope(space), async (moment) => {
      const collection = await collectionAt(moment, name);
      const bytes = attempt();
      const page = await choose(collection, (query, most) =>
        pageAt(parts, space, collection, { moment, lane, bytes, query, most }),
      );
      return { collection, page };
    });
  return parts.lanes.run(space, readAll, call);
}

interface Asked {
  readonly moment: Moment;
  readonly lane: ReadLane;
  readonly bytes: AttemptBytes;
  readonly query: RecordQuery;
  readonly most: PageMost;
}

async function pageAt(
  { limits, world, cursors }: RecordParts,
  space: string,
  { incarnation }: StoredCollection,
  { moment, lane, bytes, query, most }: Asked,
): Promise<FoundPage> {
  const { offset } = query.page;
  const owner: PositionOwner = { space, incarnation, query: query.asked };
  // An export may read as many records as its answer may hold, also if the budget of a query is smaller.
  const readsMax = Math.max(limits.readsPerCallMax, most.records + 1);
  const budget = new ReadBudget(readsMax, query.advice, lane);
  const reader = {
    moment,
    incarnation,
    budget,
    turns: world.turns.of(space),
    bytes,
    pageMax: limits.readPageMax,
  };
  const page = await findPage(reader, query, most, offset === 0 ? null : cursors.get(owner, offset));
  if (page.nextOffset !== null && page.lastKey !== null) cursors.set(owner, page.nextOffset, page.lastKey);
  return page;
}
