import type { ServiceError } from '../kernel/errors.ts';
import { inTurns } from '../kernel/turns.ts';
import { type Candidates, candidateBytes, type WaitingCandidate, walkTerms } from './candidate-walk.ts';
import { candidatesOf } from './candidates.ts';
import { isAdmitted } from './judge-records.ts';
import type { RecordQuery } from './page-request.ts';
import { CandidateOrder, foundMax } from './search/candidate-order.ts';
import { lexicalDiagnostics } from './search/diagnostics.ts';
import type { LexicalQuery } from './search/lexical-query.ts';
import { type CandidateWalk, planLexical } from './search/plan.ts';
import { CandidatePool, type Ranking } from './search/pool.ts';
import type { RankedRecord } from './search-answer.ts';
import { rankByCounts } from './search-counted.ts';
import { isBudgetEnd, isUnknown, pageUnknown, readsOfCount } from './search-limit.ts';
import type { SearchReader } from './search-reader.ts';
import { RECORDS } from './store-collections.ts';
import { storedText } from './stored-content.ts';

/** Terms that are counted together. Firestore counts them concurrently, and other calls run after each group. */
const COUNTED_TERMS = 16;

/**
 * The records that match the words of the search and meet the conditions of the query, the best first. `pageMost` is the most
 * records of a page. Throws `search_budget_exceeded` if the page has no match although unscored candidates may exist, and if the
 * reads end before the pool is full.
 */
export async function rankByWords(
  reader: SearchReader,
  query: RecordQuery,
  lexical: LexicalQuery,
  pageMost: number,
): Promise<readonly RankedRecord[]> {
  const most = Math.min(query.page.limit ?? pageMost, pageMost, lexical.top);
  const counted = await rankByCounts(reader, query, lexical, most);
  if (counted === null) return answerOf(await rankCandidates(reader, query, lexical, most));
  if (isUnknown(counted, query.page)) throw pageUnknown(lexical);
  return answerOf(counted);
}

/** Ranks the candidates by the lexicons of all of them. */
async function rankCandidates(
  reader: SearchReader,
  query: RecordQuery,
  lexical: LexicalQuery,
  most: number,
): Promise<Ranking> {
  const walk = await walkOf(reader, lexical);
  const pool = new CandidatePool(lexical, walk.source);
  const order = new CandidateOrder<WaitingCandidate>(foundMax(lexical.scanLimit));
  const candidates = { reader, query, lexical, pool, order };
  const refusal = await fillPool(candidates, walk, most);
  const ranking = await inTurns(pool.rank(), reader.turns);
  if (isUnknown(ranking, query.page)) throw refusal ?? pageUnknown(lexical);
  return ranking;
}

function answerOf(ranking: Ranking): readonly RankedRecord[] {
  return ranking.matches.map((match) => ({
    id: match.id,
    score: match.score,
    diagnose: (identity) => lexicalDiagnostics(ranking, match, identity),
  }));
}

async function walkOf(
  { find, budget, turns, incarnation, formats }: SearchReader,
  lexical: LexicalQuery,
): Promise<CandidateWalk> {
  const plan = planLexical(lexical, formats);
  const where = { by: 'counts', collection: RECORDS.name, group: incarnation, max: plan.countMax } as const;
  const counts: number[] = [];
  while (counts.length < plan.counted.length) {
    if (turns.due()) await turns.next();
    budget.room();
    const terms = plan.counted.slice(counts.length, counts.length + COUNTED_TERMS);
    const found = await find({ ...where, terms });
    budget.spend(
      found.counts.reduce((sum, each) => sum + readsOfCount(each), 0),
      0,
    );
    counts.push(...found.counts);
  }
  return plan.walk(counts);
}

/**
 * Fills the pool, and leaves reads for the records of the page. Returns the error that ended the search for one candidate more than
 * the query scores: a full pool can answer without that candidate.
 */
async function fillPool(
  candidates: Candidates,
  walk: CandidateWalk,
  most: number,
): Promise<ServiceError | null> {
  const { reader, pool, order } = candidates;
  reader.budget.keep(() => Math.min(most, Math.max(1, pool.size + order.size)));
  try {
    if (walk.source === 'scan') await scan(candidates);
    else await walkTerms(candidates, walk);
    return null;
  } catch (error) {
    if (!pool.isFull || !isBudgetEnd(error)) throw error;
    pool.limit();
    return error;
  } finally {
    reader.budget.keep(() => 0);
  }
}

async function scan(candidates: Candidates): Promise<void> {
  const { reader, query, lexical, pool } = candidates;
  // A range finds records in another order, in which the scan limit would exclude other records.
  const driver = query.driver.by === 'range' ? ({ by: 'listing' } as const) : query.driver;
  for await (const data of candidatesOf(reader, driver, null, pool.missing)) {
    if (reader.turns.due()) await reader.turns.next();
    const stored = storedText(data);
    if (!(await isAdmitted(reader, stored, query))) continue;
    const reading = await inTurns(pool.readText(data.listing?.id ?? '', stored.text), reader.turns);
    if (reading !== null && pool.add(data.key.id, reading))
      reader.bytes.add(candidateBytes(lexical, reading));
    if (pool.isLimited) return;
  }
}
