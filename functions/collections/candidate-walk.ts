import { inTurns } from '../kernel/turns.ts';
import { StoreError } from '../store/port.ts';
import type { FoundEntry } from '../store/search.ts';
import { isAdmitted } from './judge-records.ts';
import type { RecordQuery } from './page-request.ts';
import { partitionPrefix } from './rules/record-key.ts';
import type { CandidateOrder, WalkedRecord } from './search/candidate-order.ts';
import type { EntryFormat } from './search/formats.ts';
import type { LexicalQuery } from './search/lexical-query.ts';
import { type CandidateWalk, heldBy, type WalkedDemand } from './search/plan.ts';
import type { CandidatePool } from './search/pool.ts';
import type { CandidateReading } from './search/reader.ts';
import { isBudgetEnd } from './search-limit.ts';
import { type SearchReader, textsOf } from './search-reader.ts';
import { RECORDS } from './store-collections.ts';

const ENTRIES_FIRST = 100;
const ENTRIES_MAX = 500;
/** The least entries of the second page of a term; each further page has at least twice as many. */
const ENTRIES_NEXT = 16;
/** The characters of lexicons that a page of entries should hold, about. */
const PAGE_CHARACTERS = 4 * 1024 * 1024;
/** Memory of a candidate, of each of its terms, and of each of its paths beside the characters; about. */
const CANDIDATE_BYTES = 512;
const TERM_BYTES = 24;
const PATH_BYTES = 32;

/** A search for words that collects its candidates. */
export interface Candidates {
  readonly reader: SearchReader;
  readonly query: RecordQuery;
  readonly lexical: LexicalQuery;
  readonly pool: CandidatePool;
  /** The records that the walk has found and that are not in the pool yet. */
  readonly order: CandidateOrder<WaitingCandidate>;
}

/** A record whose words fulfil the query. */
export interface WaitingCandidate extends WalkedRecord {
  readonly id: string;
  readonly reading: CandidateReading;
  /** Whether the other conditions of the query admit it; `null`: its text decides. */
  readonly isAdmitted: boolean | null;
}

interface Walking extends Candidates {
  readonly demand: WalkedDemand;
  /** The ids of all records that were found. */
  readonly known: Set<string>;
}

type IndexWalk = Extract<CandidateWalk, { readonly source: 'inverted_index' }>;

export function candidateBytes({ terms }: LexicalQuery, { paths }: CandidateReading): number {
  const ofPaths = paths.reduce((sum, { length }) => sum + PATH_BYTES + 2 * length, 0);
  return CANDIDATE_BYTES + TERM_BYTES * terms.length + ofPaths;
}

/** Adds the records of the terms to the pool, in the order of candidates, until it is limited. */
export async function walkTerms(candidates: Candidates, { terms, demand }: IndexWalk): Promise<void> {
  const { query, pool, order } = candidates;
  const walking = { ...candidates, demand, known: new Set<string>() };
  try {
    for (const [index, { term, held }] of terms.entries()) {
      order.begin(held, terms[index + 1]?.held ?? -1);
      for await (const entries of entriesOf(candidates, term)) {
        await addEntries(walking, entries);
        if (pool.isLimited) return;
      }
    }
    await admit(candidates, order.takeAll());
  } catch (error) {
    // Without a filter the found records need no further read.
    if (isBudgetEnd(error) && query.condition.filter === null) await admit(candidates, order.takeAll());
    throw error;
  }
}

/**
 * The entries of a term, page by page. Long lexicons make short pages; no length is known before the first. A page has no
 * more entries than candidates are missing, as long as all entries are candidates.
 */
async function* entriesOf(
  { reader: { find, budget, bytes, incarnation }, pool, order }: Candidates,
  term: string,
): AsyncGenerator<readonly FoundEntry[], void, undefined> {
  const where = { by: 'term', collection: RECORDS.name, group: incarnation, term } as const;
  let size = ENTRIES_FIRST;
  let least = 1;
  for (let after: string | null | undefined; after !== null; ) {
    const wanted = Math.max(Math.min(pool.missing, order.room), least);
    const limit = Math.min(size, budget.room(), wanted);
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

/** Adds a page of entries, and moves those whose place is final into the pool. */
async function addEntries(walking: Walking, entries: readonly FoundEntry[]): Promise<void> {
  const { query, pool, order } = walking;
  const read = await readingsOf(walking, entries);
  if (read.some(needsText)) {
    for await (const found of withTexts(walking, read)) if (await isEnough(walking, found)) return;
  } else {
    // Most iterations wait for nothing; one in many pauses.
    for (const entry of read) {
      if (entry.reading === 'body') continue;
      hold(walking, foundBy(walking, entry, entry.reading));
      if (order.isFull && (await admitsAll(walking))) return;
    }
  }
  const last = entries.at(-1);
  if (last !== undefined) order.pass(last.orderKey);
  await admit(walking, order.take());
  // Without a filter each of them is a candidate.
  if (query.condition.filter === null) drop(walking, order.keep(pool.missing));
}

async function isEnough(walking: Walking, found: WaitingCandidate): Promise<boolean> {
  hold(walking, found);
  return walking.order.isFull && (await admitsAll(walking));
}

/** Moves all waiting records into the pool. Returns whether it is limited then. */
async function admitsAll(walking: Walking): Promise<boolean> {
  await admit(walking, walking.order.takeAll());
  return walking.pool.isLimited;
}

function hold({ reader, lexical, order, known }: Walking, found: WaitingCandidate): void {
  known.add(found.id);
  reader.bytes.add(candidateBytes(lexical, found.reading));
  order.add(found);
}

function drop({ reader, lexical }: Candidates, left: readonly WaitingCandidate[]): void {
  reader.bytes.drop(left.reduce((sum, { reading }) => sum + candidateBytes(lexical, reading), 0));
}

/** Puts candidates into the pool, until it is limited. */
async function admit(candidates: Candidates, found: readonly WaitingCandidate[]): Promise<void> {
  const { pool, query } = candidates;
  for (let at = 0; at < found.length && !pool.isLimited; ) {
    const some = found.slice(at, at + pool.missing);
    at += some.length;
    if (query.condition.filter === null) {
      for (const { id, reading } of some) pool.add(id, reading);
      continue;
    }
    for await (const { id, reading } of admittedOf(candidates, some)) {
      pool.add(id, reading);
      if (pool.isLimited) return;
    }
  }
}

/** The records that the other conditions of the query admit, in their order. */
async function* admittedOf(
  { reader, query }: Candidates,
  found: readonly WaitingCandidate[],
): AsyncGenerator<WaitingCandidate, void, undefined> {
  const unjudged = found.filter((each) => each.isAdmitted === null);
  const texts = textsOf(
    reader,
    unjudged.map(({ id }) => id),
  );
  let text: Awaited<ReturnType<typeof texts.next>> | null = null;
  try {
    for (const each of found) {
      if (each.isAdmitted === null) {
        text ??= await texts.next();
        // A record without a text has no place among them.
        if (text.value?.id !== each.id) continue;
        const { stored } = text.value;
        text = null;
        if (await isAdmitted(reader, stored, query)) yield each;
      } else if (each.isAdmitted) yield each;
    }
  } finally {
    await texts.return();
  }
}

/** The entries whose words fulfil the query, in their order. If the lexicon does not decide, the text is read. */
async function* withTexts(
  walking: Walking,
  read: readonly ReadEntry[],
): AsyncGenerator<WaitingCandidate, void, undefined> {
  const { reader, query, pool, demand } = walking;
  const texts = textsOf(
    reader,
    read.filter(needsText).map(({ id }) => id),
  );
  let text: Awaited<ReturnType<typeof texts.next>> | null = null;
  try {
    for (const entry of read) {
      const { id, orderKey, reading } = entry;
      if (reading !== 'body') {
        yield foundBy(walking, entry, reading);
        continue;
      }
      text ??= await texts.next();
      if (text.value?.id !== id) continue;
      const { stored } = text.value;
      text = null;
      const known = await inTurns(pool.readText(orderKey, stored.text), reader.turns);
      if (known === null) continue;
      const isAccepted = await isAdmitted(reader, stored, query);
      yield { id, orderKey, held: heldBy(known, demand), reading: known, isAdmitted: isAccepted };
    }
  } finally {
    await texts.return();
  }
}

function foundBy(
  { query, demand }: Walking,
  { id, orderKey }: ReadEntry,
  reading: CandidateReading,
): WaitingCandidate {
  const isSure = query.condition.filter === null;
  return { id, orderKey, held: heldBy(reading, demand), reading, isAdmitted: isSure || null };
}

function needsText({ reading }: ReadEntry): boolean {
  return reading === 'body';
}

interface ReadEntry {
  readonly id: string;
  readonly orderKey: string;
  readonly reading: CandidateReading | 'body';
}

/** The entries of the partitions that may be candidates, and that no earlier term has found. */
async function readingsOf(
  { reader, query, pool, known }: Walking,
  entries: readonly FoundEntry[],
): Promise<readonly ReadEntry[]> {
  const { partitionKeys } = query.condition;
  const prefixes = partitionKeys === null ? null : [...partitionKeys].map(partitionPrefix);
  const read: ReadEntry[] = [];
  for (const { id, orderKey, lexicon } of entries) {
    if (reader.turns.due()) await reader.turns.next();
    if (known.has(id)) continue;
    if (prefixes !== null && !prefixes.some((prefix) => orderKey.startsWith(prefix))) continue;
    const reading = pool.read(readableLexicon(lexicon, reader.formats));
    if (reading !== null) read.push({ id, orderKey, reading });
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
