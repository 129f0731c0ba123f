import type { RecordParts } from './parts.ts';
import { queryRecords } from './query-records.ts';
import type { ReadCall } from './read-call.ts';
import { answerPage, matchJson, type SearchedPage } from './search-answer.ts';
import { inSearchMoment, searchAdvice } from './search-moment.ts';
import { isRanked, type SearchRequest } from './search-request.ts';

/** A page holds its matches beside a batch of texts: together they stay far below the bytes that a caller may hold. */
const PAGE_BYTES_MAX = 16 * 1024 * 1024;

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
  const { limits } = parts;
  const most = { records: limits.pageRecordsMax, bytes: Math.min(limits.answerBytesMax, PAGE_BYTES_MAX) };
  return inSearchMoment(
    parts,
    space,
    name,
    async (at) => {
      const search = at.read(request);
      const reader = at.reader(searchAdvice(search));
      const ranked = await at.rank(reader, search, most.records);
      return answerPage(reader, at.collection.name, ranked, search.query.page, most);
    },
    call,
  );
}
