import { nextTurn } from '../../kernel/turns.ts';
import type { Scope } from '../port.ts';
import type { CountsRequest, FoundCounts, FoundEntries, FoundEntry, TermRequest } from '../search.ts';
import type { Connection } from './connection.ts';
import { groupNumber } from './search-group.ts';
import { FirstHolders, type Holder } from './search-holders.ts';
import { tokenOf } from './search-tokens.ts';
import type { Read } from './search-vectors.ts';

/** How much a find does at a time. */
export interface TermFinderOptions {
  /** Rows of the index that are read before the other calls get their turn: about a millisecond. */
  readonly rowsPerTurn?: number;
  /** The number of the first records of a term that are kept for its next pages. */
  readonly holdersMax?: number;
  readonly pageEntriesMax?: number;
  /** Lets the other calls of the process work. */
  readonly turn?: () => Promise<void>;
}

/** A page ends early at this many characters. */
const pageCharactersMax = 1024 * 1024;
/** Lexicons that one statement reads. */
const lexiconsMax = 32;

const selectCount = `SELECT count(*) AS records FROM (
  SELECT rowid FROM search_terms WHERE search_terms MATCH ? LIMIT ?)`;

/** The index gives the records of a term by row number. */
const selectHolders = `SELECT e.record, e.id, e.order_key FROM search_terms AS t CROSS JOIN search_entries AS e ON e.record = t.rowid
  WHERE search_terms MATCH ? AND t.rowid > ? ORDER BY t.rowid LIMIT ?`;

const selectLexicons = `SELECT l.record, l.lexicon FROM json_each(?) AS j
  CROSS JOIN search_lexicons AS l ON l.record = j.value`;

/** Finds by term at one moment, in turns with the other calls of the process. */
export class TermFinder {
  readonly #scope: Scope;
  readonly #read: Read;
  readonly #options: Required<TermFinderOptions>;
  /** The holders of the page before: the records of a term are read and sorted once for many pages. */
  #holders: FirstHolders | undefined;

  constructor(scope: Scope, read: Read, options: TermFinderOptions = {}) {
    this.#scope = scope;
    this.#read = read;
    this.#options = {
      rowsPerTurn: 2_000,
      holdersMax: 8_192,
      pageEntriesMax: 64,
      turn: nextTurn,
      ...options,
    };
  }

  async counts(request: CountsRequest): Promise<FoundCounts> {
    const { rowsPerTurn, turn } = this.#options;
    const counts: number[] = [];
    while (counts.length < request.terms.length) {
      if (counts.length > 0) await turn();
      const rest = { ...request, terms: request.terms.slice(counts.length) };
      counts.push(
        ...(await this.#read((connection) => leadingCounts(connection, this.#scope, rest, rowsPerTurn))),
      );
    }
    return { counts };
  }

  async entries(request: TermRequest): Promise<FoundEntries> {
    const known = this.#holders;
    const holders = known?.isBefore(request) === true ? known : await this.#holdersOf(request);
    const asked = holders.next(Math.min(request.limit, this.#options.pageEntriesMax));
    const { entries, read } = await this.#read((connection) => readEntries(connection, asked));
    this.#holders = holders;
    return { entries, next: holders.give(read) };
  }

  async #holdersOf(request: TermRequest): Promise<FirstHolders> {
    const { rowsPerTurn, holdersMax, turn } = this.#options;
    const holders = new FirstHolders(request, holdersMax);
    for (let row = 0; ; await turn()) {
      const rows = await this.#read((connection) => {
        const group = groupNumber(connection, this.#scope, request);
        if (group === undefined) return [];
        return connection.tuples<Holder>(selectHolders, phraseOf(group, request.term), row, rowsPerTurn);
      });
      holders.add(rows);
      const end = rows.at(-1);
      if (end === undefined || rows.length < rowsPerTurn) return holders;
      [row] = end;
    }
  }
}

/** The counts of the first terms, of as many as one turn has time for. */
function leadingCounts(
  connection: Connection,
  scope: Scope,
  request: CountsRequest,
  rowsPerTurn: number,
): readonly number[] {
  const { terms, max } = request;
  const group = groupNumber(connection, scope, request);
  if (group === undefined) return terms.map(() => 0);
  const counts: number[] = [];
  for (let rows = 0; counts.length < terms.length && rows < rowsPerTurn; ) {
    const phrase = phraseOf(group, terms[counts.length] ?? '');
    const count = connection.get<{ records: number }>(selectCount, phrase, max)?.records ?? 0;
    counts.push(count);
    rows += count;
  }
  return counts;
}

/** The entries of the first holders, of as many as a page has room for; `read` is their number. */
function readEntries(
  connection: Connection,
  holders: readonly Holder[],
): { readonly entries: readonly FoundEntry[]; readonly read: number } {
  const entries: FoundEntry[] = [];
  let read = 0;
  for (let characters = 0; read < holders.length && characters < pageCharactersMax; ) {
    const batch = holders.slice(read, read + lexiconsMax);
    const records = JSON.stringify(batch.map(([record]) => record));
    const lexicons = new Map(connection.tuples<readonly [number, string]>(selectLexicons, records));
    for (const [record, id, orderKey] of batch) {
      const lexicon = lexicons.get(record);
      if (lexicon === undefined) continue;
      entries.push({ id, orderKey, lexicon });
      characters += lexicon.length;
    }
    read += batch.length;
  }
  return { entries, read };
}

/** Quoted, so that no term reads as an operator. Terms hold no quotes. */
function phraseOf(group: number, term: string): string {
  return `"${tokenOf(group, term)}"`;
}
