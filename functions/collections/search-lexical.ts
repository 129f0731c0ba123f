import type { ServiceError } from '../kernel/errors.ts';
import { inTurns } from '../kernel/turns.ts';
import { StoreError } from '../store/port.ts';
import type { FoundEntry } from '../store/search.ts';
import { candidatesOf } from './candidates.ts';
import { isAdmitted } from './judge-records.ts';
import type { RecordQuery } from './page-request.ts';
import { partitionPrefix } from './rules/record-key.ts';
import { lexicalDiagnostics } from './search/diagnostics.ts';
import type { EntryFormat } from './search/formats.ts';
import type { LexicalQuery } from './search/lexical-query.ts';
import { orderKeyIn } from './search/lexicon.ts';
import { planLexical, type Walk } from './search/plan.ts';
import { CandidatePool } from './search/pool.ts';
import type { Reading } from './search/reader.ts';
import type { RankedRecord } from './search-answer.ts';
import { isBudgetEnd, isUnknown, pageUnknown } from './search-limit.ts';
import { type SearchReader, textsOf } from './search-reader.ts';
import { RECORDS } from './store-collections.ts';
import { storedText } from './stored-record.ts';

const ENTRIES_FIRST = 100;
const ENTRIES_MAX = 500;
/** A page behind the first one of a term has at least so many entries, and each further page at least twice as many. */
const ENTRIES_NEXT = 16;
/** Terms that are counted together: Firestore counts them at once, and others get their turn behind them. */
const COUNTED_TERMS = 16;
/** Firestore bills a count as one read for each so many records. */
const COUNTED_RECORDS_PER_READ = 1_000;
/** A page of entries is to hold about so many characters of lexicons. */
const PAGE_CHARACTERS = 4 * 1024 * 1024;
/** What the process holds of a candidate, of each term for it, and of each of its paths beside their characters, about. */
const CANDIDATE_BYTES = 512;
const TERM_BYTES = 24;
const PATH_BYTES = 32;

/**
 * The records that match the words of the search and meet the conditions of the query, the best first. `pageMost`: records
 * that a page has at most. Throws `search_budget_exceeded` where the page has no match and there may be candidates that were
 * not scored, and where the reads end before the pool is full.
 */
export async function rankByWords(
  reader: SearchReader,
  query: RecordQuery,
  lexical: LexicalQuery,
  pageMost: number,
): Promise<readonly RankedRecord[]> {
  const walk = await walkOf(reader, lexical);
  const pool = new CandidatePool(lexical, walk.source);
  const candidates = { reader, query, lexical, pool };
  const refusal = await fillPool(candidates, walk, pageMost);
  const ranking = await inTurns(pool.rank(), reader.turns);
  if (isUnknown(ranking, query.page)) throw refusal ?? pageUnknown(lexical);
  return ranking.matches.map((match) => ({
    id: match.id,
    score: match.score,
    diagnose: (identity) => lexicalDiagnostics(ranking, match, identity),
  }));
}

async function walkOf(
  { find, budget, turns, incarnation, formats }: SearchReader,
  lexical: LexicalQuery,
): Promise<Walk> {
  const plan = planLexical(lexical, formats);
  const where = { by: 'counts', collection: RECORDS.name, group: incarnation, max: plan.countMax } as const;
  const counts: number[] = [];
  while (counts.length < plan.counted.length) {
    if (turns.due()) await turns.next();
    budget.room();
    const terms = plan.counted.slice(counts.length, counts.length + COUNTED_TERMS);
    const found = await find({ ...where, terms });
    const reads = found.counts.map((count) => Math.max(1, Math.ceil(count / COUNTED_RECORDS_PER_READ)));
    budget.spend(
      reads.reduce((sum, each) => sum + each, 0),
      0,
    );
    counts.push(...found.counts);
  }
  return plan.walk(counts);
}

interface Candidates {
  readonly reader: SearchReader;
  readonly query: RecordQuery;
  readonly lexical: LexicalQuery;
  readonly pool: CandidatePool;
}

/**
 * Leaves room for the records of the page. Returns what ended the search for one more candidate than the query scores: a
 * full pool answers without it.
 */
async function fillPool(candidates: Candidates, walk: Walk, pageMost: number): Promise<ServiceError | null> {
  const { reader, query, lexical, pool } = candidates;
  const most = Math.min(query.page.limit ?? pageMost, pageMost, lexical.top);
  reader.budget.keep(() => Math.min(most, Math.max(1, pool.size)));
  try {
    if (walk.source === 'scan') await scan(candidates);
    else await walkTerms(candidates, walk.terms);
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
  const { reader, query, pool } = candidates;
  // Records that a range finds have another order, in which the scan limit would cut off others.
  const driver = query.driver.by === 'range' ? ({ by: 'listing' } as const) : query.driver;
  for await (const data of candidatesOf(reader, driver, null, pool.missing)) {
    if (reader.turns.due()) await reader.turns.next();
    const stored = storedText(data);
    if (!(await isAdmitted(reader, stored, query))) continue;
    const reading = await inTurns(pool.readText(data.listing?.id ?? '', stored.text), reader.turns);
    if (reading !== null) addTo(candidates, data.key.id, reading);
    if (pool.isLimited) return;
  }
}

async function walkTerms(candidates: Candidates, terms: readonly string[]): Promise<void> {
  for (const term of terms) {
    for await (const entries of entriesOf(candidates, term)) {
      await addEntries(candidates, entries);
      if (candidates.pool.isLimited) return;
    }
  }
}

/**
 * The entries of a term, page by page. Long lexicons make short pages; no length is known before the first. A page has no
 * more entries than candidates are missing, as long as all entries are candidates.
 */
async function* entriesOf(
  { reader: { find, budget, bytes, incarnation }, pool }: Candidates,
  term: string,
): AsyncGenerator<readonly FoundEntry[], void, undefined> {
  const where = { by: 'term', collection: RECORDS.name, group: incarnation, term } as const;
  let size = ENTRIES_FIRST;
  let least = 1;
  for (let after: string | null | undefined; after !== null; ) {
    const limit = Math.min(size, budget.room(), Math.max(pool.missing, least));
    const { entries, next } = await find({ ...where, limit, ...(after === undefined ? {} : { after }) });
    const characters = entries.reduce((sum, { lexicon }) => sum + lexicon.length, 0);
    budget.spend(entries.length, characters);
    bytes.add(characters);
    try {
      yield entries;
    } finally {
      bytes.drop(characters);
    }
    const fitting = Math.floor((PAGE_CHARACTERS * entries.length) / Math.max(1, characters));
    size = Math.max(1, Math.min(ENTRIES_MAX, fitting));
    least = Math.max(ENTRIES_NEXT, least * 2);
    after = next;
  }
}

/** Adds the candidates among the entries in their order, until the pool is limited. */
async function addEntries(candidates: Candidates, entries: readonly FoundEntry[]): Promise<void> {
  const { reader, query, pool } = candidates;
  const { filter } = query.condition;
  const read = await readingsOf(candidates, entries);
  const ids = read.flatMap(({ id, reading }) => (filter !== null || reading === 'body' ? [id] : []));
  const texts = textsOf(reader, ids);
  let text: Awaited<ReturnType<typeof texts.next>> | null = null;
  try {
    for (const { id, orderKey, reading } of read) {
      if (pool.isLimited) return;
      if (filter === null && reading !== 'body') {
        addTo(candidates, id, reading);
        continue;
      }
      text ??= await texts.next();
      // A record without a text has no place among them.
      if (text.value?.id !== id) continue;
      const { stored } = text.value;
      text = null;
      if (!(await isAdmitted(reader, stored, query))) continue;
      const known =
        reading === 'body' ? await inTurns(pool.readText(orderKey, stored.text), reader.turns) : reading;
      if (known !== null) addTo(candidates, id, known);
    }
  } finally {
    await texts.return();
  }
}

interface ReadEntry {
  readonly id: string;
  readonly orderKey: string;
  readonly reading: Reading | 'body';
}

/** The entries of the partitions that may be candidates. */
async function readingsOf(
  { reader, query, pool }: Candidates,
  entries: readonly FoundEntry[],
): Promise<readonly ReadEntry[]> {
  const { partitionKeys } = query.condition;
  const prefixes = partitionKeys === null ? null : [...partitionKeys].map(partitionPrefix);
  const read: ReadEntry[] = [];
  for (const { id, lexicon: stored } of entries) {
    if (reader.turns.due()) await reader.turns.next();
    if (pool.has(id)) continue;
    const lexicon = readableLexicon(stored, reader.formats);
    if (prefixes !== null && !beginsWithOne(orderKeyIn(lexicon), prefixes)) continue;
    const reading = pool.read(lexicon);
    if (reading === null) continue;
    const orderKey = reading === 'body' ? orderKeyIn(lexicon) : reading.orderKey;
    read.push({ id, orderKey, reading });
  }
  return read;
}

/** The stored lexicon as `lexiconOf` makes it. */
function readableLexicon(stored: string, formats: readonly EntryFormat[]): string {
  const format = formats.find(({ marks }) => marks.includes(stored.charAt(0)));
  if (format === undefined)
    throw new StoreError('corrupt', 'a lexicon has none of the versions that are known');
  return format.lexicon(stored);
}

function beginsWithOne(orderKey: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => orderKey.startsWith(prefix));
}

function addTo({ reader, lexical, pool }: Candidates, id: string, reading: Reading): void {
  if (!pool.add(id, reading)) return;
  const paths = reading.paths.reduce((sum, { length }) => sum + PATH_BYTES + 2 * length, 0);
  reader.bytes.add(CANDIDATE_BYTES + TERM_BYTES * lexical.terms.length + paths);
}
