import type { Scope } from '../port.ts';
import type { CountsRequest, FoundCounts, FoundEntries, FoundEntry, TermRequest } from '../search.ts';
import { markOf } from './search-write.ts';
import type { Snapshot } from './snapshot.ts';
import { IN_SCOPE, ofScope, Sql, type Statement } from './statement.ts';

/** Terms that one statement counts; the next ones travel in the same packet. */
const termsPerStatement = 50;

/** A page ends early at this many bytes of lexicons, so that memory stays limited. */
const pageBytesMax = 32 * 1024 * 1024;

/** Up to this number, entries of usual lexicon size are read without a check of their sizes. */
const fewEntries = 500;

export async function findCounts(
  snapshot: Snapshot,
  scope: Scope,
  request: CountsRequest,
): Promise<FoundCounts> {
  const { terms } = request;
  if (terms.length === 0) return { counts: [] };
  const answers = await snapshot.send(...countStatements(scope, request));
  return {
    counts: answers.flatMap(({ rows: [row] }, index) => {
      const size = Math.min(termsPerStatement, terms.length - index * termsPerStatement);
      return Array.from({ length: size }, (_, n) => row?.[`c${n}`] ?? 0);
    }),
  };
}

function countStatements(scope: Scope, request: CountsRequest): readonly Statement<Record<string, number>>[] {
  const { terms, max } = request;
  return Array.from({ length: Math.ceil(terms.length / termsPerStatement) }, (_, index) => {
    const sql = new Sql().add('SELECT');
    const some = terms.slice(index * termsPerStatement, (index + 1) * termsPerStatement);
    for (const [n, term] of some.entries()) {
      sql.add(`${n === 0 ? '' : ', '}(SELECT COUNT(*) FROM (SELECT 1`);
      addHolders(sql, scope, request, term);
      sql.add(`LIMIT ?) AS t${n}) AS c${n}`, max);
    }
    return sql;
  });
}

interface SizeRow {
  readonly id: string;
  readonly lexicon_bytes: number;
}

export async function findEntries(
  snapshot: Snapshot,
  scope: Scope,
  request: TermRequest,
): Promise<FoundEntries> {
  const { limit } = request;
  if (limit <= 0) return { entries: [], next: null };
  if (limit <= fewEntries) {
    const [{ rows }] = await snapshot.send(
      entriesStatement<FoundEntry>(scope, request, 'lexicon', limit + 1),
    );
    const entries = rows.slice(0, limit);
    return { entries, next: rows.length > limit ? (entries.at(-1)?.orderKey ?? null) : null };
  }
  const [{ rows: sizes }] = await snapshot.send(
    entriesStatement<SizeRow>(scope, request, 'lexicon_bytes', limit + 1),
  );
  const count = countOf(sizes, limit);
  if (count === 0) return { entries: [], next: null };
  const [{ rows: entries }] = await snapshot.send(
    entriesStatement<FoundEntry>(scope, request, 'lexicon', count),
  );
  return { entries, next: count < sizes.length ? (entries.at(-1)?.orderKey ?? null) : null };
}

function countOf(sizes: readonly SizeRow[], limit: number): number {
  let bytes = 0;
  let count = 0;
  for (const { lexicon_bytes: size } of sizes) {
    if (count === limit || (count > 0 && bytes + size > pageBytesMax)) break;
    bytes += size;
    count += 1;
  }
  return count;
}

function entriesStatement<Row>(
  scope: Scope,
  request: TermRequest,
  column: 'lexicon' | 'lexicon_bytes',
  rows: number,
): Statement<Row> {
  const { collection, term, after } = request;
  const sql = new Sql().add(`SELECT e.id, e.order_key AS orderKey, e.${column}`);
  // The driver's ids are bytes, those of entries their hexadecimal digits.
  const entry = `STRAIGHT_JOIN {search_entries} AS e FORCE INDEX (PRIMARY)
    ON e.space = t.space AND e.collection = ? AND e.id = LOWER(HEX(t.id))`;
  addHolders(sql, scope, request, term, new Sql().add(entry, collection));
  if (after !== undefined) sql.add('AND t.order_key > ?', after);
  return sql.add('ORDER BY t.order_key, t.id LIMIT ?', rows);
}

/** The rows `t` of a term: one range of the table's own order. */
function addHolders(
  sql: Sql,
  scope: Scope,
  { collection, group }: { readonly collection: string; readonly group: string },
  term: string,
  joins: Sql = new Sql(),
): void {
  const { text, values } = ofScope(scope);
  sql.add(`FROM ${IN_SCOPE} {search_terms} AS t FORCE INDEX (PRIMARY) ON t.space = s.space`);
  if (joins.text !== '') sql.add(joins.text, ...joins.values);
  sql.add(`WHERE ${text}`, ...values);
  sql.add('AND t.mark = UNHEX(?) AND t.term = ?', markOf(collection, group), term);
}
