import type { Scope } from '../port.ts';
import type { CountsRequest, FoundCounts, FoundEntries, FoundEntry, TermRequest } from '../search.ts';
import { type Reader } from './connection.ts';
import { liveSpace } from './rows.ts';
import { groupMark } from './search-write.ts';
import { arrayOf, type Statement, statement } from './statement.ts';

/** A page ends early at this many bytes, so that memory stays limited with large lexicons. */
const pageBytesMax = 32 * 1024 * 1024;

/**
 * The index of terms gives a set of rows and no order, which the server calls a bitmap. Sessions rule such plans out, because
 * every other statement has an index with an order: these two settings stand around the statement alone.
 */
const SETS = statement('SET LOCAL enable_bitmapscan = on');
const ROWS = statement('SET LOCAL enable_bitmapscan = off');

async function withTermIndex<Row>(reader: Reader, asked: Statement<Row>): Promise<Row[]> {
  const [, rows] = await reader.send(SETS, asked, ROWS);
  return rows;
}

/** The entries \`e\` that hold the term \`word\`, which is given behind the mark of its group. No other index can serve it. */
const holders = (word: string) => `
  SELECT e.space, e.collection, e.search_group, e.id, e.order_key FROM search_entries AS e
  WHERE e.terms @@ ('''' || ${liveSpace} || '.' || ${word} || '''')::tsquery OFFSET 0`;

/** Selects the entries of the scope \`$1\`, \`$2\`, the collection \`$3\` and the group \`$4\`. */
const ofGroup = `e.space = ${liveSpace} AND e.collection = $3 AND e.search_group = $4`;

const selectCounts = `
  SELECT (
    SELECT count(*)::int FROM (
      SELECT 1 FROM (${holders('k.word')}) AS e WHERE ${ofGroup} LIMIT $6::bigint
    ) AS few
  ) AS count FROM unnest($5::text[]) WITH ORDINALITY AS k (word, n) ORDER BY k.n`;

const selectEntries = `
  WITH page AS MATERIALIZED (
    SELECT e.space, e.id, e.order_key FROM (${holders('$5')}) AS e
    WHERE ${ofGroup} AND e.order_key > $6 COLLATE "C" ORDER BY e.order_key LIMIT $7::bigint
  )
  SELECT p.id, p.order_key AS "orderKey", p.lexicon FROM (
    SELECT e.id, p.order_key, e.lexicon, octet_length(e.lexicon) AS own,
      sum(octet_length(e.lexicon)) OVER (ORDER BY p.order_key ROWS UNBOUNDED PRECEDING) AS bytes
    FROM page AS p CROSS JOIN LATERAL (
      SELECT e.id, e.lexicon FROM search_entries AS e
      WHERE e.space = p.space AND e.collection = $3 AND e.id = p.id OFFSET 0
    ) AS e
  ) AS p WHERE p.bytes - p.own < ${pageBytesMax} ORDER BY p.order_key`;

export async function findCounts(reader: Reader, scope: Scope, request: CountsRequest): Promise<FoundCounts> {
  const { collection, group, terms, max } = request;
  if (terms.length === 0) return { counts: [] };
  const words = arrayOf(terms.map((term) => wordOf(request, term)));
  const rows = await withTermIndex(
    reader,
    statement<{ count: number }>(selectCounts, scope.kind, scope.name, collection, group, words, max),
  );
  return { counts: rows.map(({ count }) => count) };
}

export async function findEntries(reader: Reader, scope: Scope, request: TermRequest): Promise<FoundEntries> {
  const { collection, group, term, limit, after = '' } = request;
  if (limit <= 0) return { entries: [], next: null };
  const rows = await withTermIndex(
    reader,
    statement<FoundEntry>(
      selectEntries,
      scope.kind,
      scope.name,
      collection,
      group,
      wordOf(request, term),
      after,
      limit + 1,
    ),
  );
  const entries = rows.slice(0, limit);
  const more = rows.length > limit || bytesOf(rows) >= pageBytesMax;
  return { entries, next: more ? (entries.at(-1)?.orderKey ?? null) : null };
}

function bytesOf(rows: readonly { readonly lexicon: string }[]): number {
  return rows.reduce((sum, { lexicon }) => sum + Buffer.byteLength(lexicon), 0);
}

/** Quotes and backslashes, which no term has, would end the word. */
function wordOf({ collection, group }: { collection: string; group: string }, term: string): string {
  return `${groupMark(collection, group)}.${term.replace(/['\\]/g, '$&$&')}`;
}
