import { inTurns } from '../kernel/turns.ts';
import type { WordCounts, WordCountsReader, WordCountsRequest } from '../store/search.ts';
import { candidateBytes } from './candidate-walk.ts';
import type { RecordQuery } from './page-request.ts';
import {
  type Chosen,
  CountedRanking,
  type CountedReading,
  chosenOf,
  countedMax,
  endOfText,
  isCountable,
} from './search/counted-ranking.ts';
import type { EntryFormat } from './search/formats.ts';
import type { LexicalQuery } from './search/lexical-query.ts';
import { COUNT_MAX } from './search/plan.ts';
import type { Ranking } from './search/pool.ts';
import { LexiconReader } from './search/reader.ts';
import { readsOfCount } from './search-limit.ts';
import type { SearchReader } from './search-reader.ts';
import { RECORDS } from './store-collections.ts';

/** Bytes of a candidate beside its word counts. */
const COUNTED_BYTES = 32;
/** The most records that are ordered in one part: a few milliseconds. */
const ORDERED_MAX = 8_192;
/** Up to this number of lexicons beside those of the answer, reading them is faster than reading a list of the index. */
const FEW_PLACES = 96;
const ENDS_MAX = 4_096;
/** The most lexicons that are held at a time. */
const ENTRIES_PER_READ = 128;

/**
 * Ranks by word counts if the store has them and they suffice. Returns `null` if they do not: the lexicons of all candidates have
 * to be read then. Both ways give the same answer. This one counts as many reads as the other would need at most.
 */
export async function rankByCounts(
  reader: SearchReader,
  { condition }: RecordQuery,
  lexical: LexicalQuery,
  kept: number,
): Promise<Ranking | null> {
  const { moment, bytes, incarnation, formats } = reader;
  const { wordCounts } = moment;
  const [format] = formats;
  if (wordCounts === undefined || format === undefined || formats.length > 1) return null;
  if (condition.filter !== null || condition.partitionKeys !== null || !isCountable(lexical)) return null;
  const where = { collection: RECORDS.name, group: incarnation };
  const terms = lexical.terms.map((term) => format.wordTerm(term));
  if (await holdsMore(reader, format, terms)) return null;
  let held = 0;
  const grow = (added: number) => {
    held += added;
    bytes.add(added);
  };
  try {
    const counts = await wordCounts.counts({ ...where, terms, grow, ...boundsOf(lexical) });
    if (counts === null) return null;
    grow(counts.places.length * COUNTED_BYTES);
    return await rankCounted(reader, lexical, kept, counts);
  } finally {
    bytes.drop(held);
  }
}

/** The bounds beyond which word counts are not used. */
function boundsOf(lexical: LexicalQuery): Pick<WordCountsRequest, 'max' | 'unitedMax'> {
  if (lexical.matchMode === 'all') return { max: COUNT_MAX };
  const most = countedMax(lexical);
  return { max: most, unitedMax: most };
}

async function rankCounted(
  reader: SearchReader,
  lexical: LexicalQuery,
  kept: number,
  counts: WordCounts,
): Promise<Ranking | null> {
  const { moment, turns, budget } = reader;
  const chosen = await inTurns(chosenOf(lexical, counts), turns);
  if (chosen === null) return null;
  const reads = readsOf(lexical, chosen);
  if (reads + kept > budget.room()) return null;
  const candidates = await candidatesOf(moment.wordCounts!, counts, chosen);
  if (candidates === null) return null;
  const ranking = new CountedRanking(lexical, counts, candidates, chosen.last.length > 0);
  const read = await readingsOf(reader, lexical, await placesOf(reader, lexical, ranking));
  if (read === null) return null;
  budget.spend(reads, 0);
  return await inTurns(ranking.rank(read), turns);
}

/** The places of the records whose lexicons are read. If they are many, an index query first narrows them by the last word of the text. */
async function placesOf(
  { moment, turns, incarnation, formats: [format] }: SearchReader,
  lexical: LexicalQuery,
  ranking: CountedRanking,
): Promise<readonly number[]> {
  const places = await inTurns(ranking.places(), turns);
  const end = endOfText(lexical);
  const term = end === null ? null : format!.prefixTerm(end);
  if (term === null || places.length <= lexical.top + FEW_PLACES) return places;
  const where = { collection: RECORDS.name, group: incarnation };
  const holders = await moment.wordCounts!.holders({ ...where, term, max: ENDS_MAX });
  return holders === null ? places : await inTurns(ranking.placesAmong(holders), turns);
}

/** Returns `null` if too many records hold as many words as the last candidate. */
async function candidatesOf(
  wordCounts: WordCountsReader,
  { places }: WordCounts,
  { sure, last, lastCount }: Chosen,
): Promise<readonly number[] | null> {
  if (last.length === 0) return sure;
  if (last.length > ORDERED_MAX) return null;
  const asked = last.map((index) => places[index]!);
  const isBehind = new Set(await wordCounts.behind(asked, lastCount));
  return [...sure, ...last.filter((_, at) => !isBehind.has(asked[at]!))];
}

/** Whether some records may lack one of the terms in the index. */
async function holdsMore(
  { find, incarnation }: SearchReader,
  format: EntryFormat,
  terms: readonly string[],
): Promise<boolean> {
  const where = { by: 'counts', collection: RECORDS.name, group: incarnation } as const;
  const { counts } = await find({ ...where, terms: [format.moreTerm(terms)], max: 1 });
  return counts.some((count) => count > 0);
}

/** The most reads that the walk over all lexicons would need. */
function readsOf({ matchMode }: LexicalQuery, { held }: Chosen): number {
  const counting = held.length === 1 ? 0 : held.reduce((sum, each) => sum + readsOfCount(each), 0);
  return counting + (matchMode === 'any' ? held.reduce((sum, each) => sum + each, 0) : Math.min(...held));
}

/** The readings of the records at the places; `null` if the text of one has to be read. */
async function readingsOf(
  { moment, turns, bytes, formats: [format] }: SearchReader,
  lexical: LexicalQuery,
  places: readonly number[],
): Promise<readonly CountedReading[] | null> {
  const lexicons = new LexiconReader(lexical);
  const read: CountedReading[] = [];
  for (let from = 0; from < places.length; from += ENTRIES_PER_READ) {
    const entries = await moment.wordCounts!.entries(places.slice(from, from + ENTRIES_PER_READ));
    for (const { id, lexicon } of entries) {
      if (turns.due()) await turns.next();
      const reading = lexicons.read(format!.lexicon(lexicon));
      if (reading === 'body' || reading === null) return null;
      bytes.add(candidateBytes(lexical, reading));
      read.push({ id, reading });
    }
  }
  return read;
}
