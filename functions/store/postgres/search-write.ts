import { hash } from 'node:crypto';
import { bytesOf } from '../nearest/float-bytes.ts';
import type { RecordKey } from '../port.ts';
import type { SearchEntry } from '../search.ts';
import type { Plan } from './plan.ts';
import { trim } from './search-sweep.ts';
import { arrayOf, CONDITION, type Statement, statement } from './statement.ts';

/**
 * The mark of a group, which follows the space in each term, so that a lookup skips records of other groups. The mark is
 * short and may collide: readers compare collection and group as well.
 */
export function groupMark(collection: string, group: string): string {
  return hash('sha256', JSON.stringify([collection, group]), 'base64url').slice(0, 8);
}

/** A record with its new entry, or `null` where searches must not find it any more. */
interface Change {
  readonly key: RecordKey;
  readonly search: SearchEntry | null;
}

/**
 * One statement, in which every part sees the state before it. The order in which its parts write does not matter: rows of
 * a record are written by the holder of the record's lock alone, and only the counters of slots are shared. These are locked
 * in one order, after everything else, so that no two transactions wait for each other. A vector that stays as it was
 * touches no counter.
 */
const writeEntries = `
  WITH k AS MATERIALIZED (
    SELECT * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $13::text[])
      AS k (collection, id, search_group, slots, lexicon, terms, order_key) WHERE ${CONDITION}
  ), v AS MATERIALIZED (
    SELECT * FROM unnest($8::text[], $9::text[], $10::text[], $11::text[], $12::bytea[])
      AS v (collection, id, search_group, slot, vector) WHERE ${CONDITION}
  ), old AS MATERIALIZED (
    SELECT e.*, k.search_group AS new_group, k.slots AS new_slots FROM k CROSS JOIN LATERAL (
      SELECT e.ctid AS place, e.collection, e.id, e.search_group, e.slots FROM search_entries AS e
      WHERE e.space = $1 AND e.collection = k.collection AND e.id = k.id OFFSET 0
    ) AS e
  ), gone AS (
    DELETE FROM search_entries WHERE ctid = ANY (ARRAY(SELECT o.place FROM old AS o WHERE o.new_group IS NULL))
  ), kept AS (
    INSERT INTO search_entries AS e (space, collection, id, search_group, order_key, slots, lexicon, terms)
    SELECT $1::bigint, k.collection, k.id, k.search_group, k.order_key, k.slots, k.lexicon, k.terms::tsvector FROM k
    WHERE k.search_group IS NOT NULL
    ON CONFLICT (space, collection, id) DO UPDATE SET
      search_group = excluded.search_group, order_key = excluded.order_key, slots = excluded.slots,
      lexicon = excluded.lexicon, terms = excluded.terms
    WHERE (e.search_group, e.order_key, e.slots, e.lexicon, e.terms)
      IS DISTINCT FROM (excluded.search_group, excluded.order_key, excluded.slots, excluded.lexicon, excluded.terms)
  ), changed AS MATERIALIZED (
    SELECT v.collection, v.search_group, v.slot, v.id, v.vector, (x.vector IS NULL)::int AS live, 0 AS dead
    FROM v LEFT JOIN LATERAL (
      SELECT x.vector FROM search_slots AS s CROSS JOIN LATERAL (
        SELECT x.vector FROM search_vectors AS x WHERE x.slot = s.number AND x.id = v.id OFFSET 0
      ) AS x
      WHERE s.space = $1 AND s.collection = v.collection AND s.search_group = v.search_group AND s.slot = v.slot
      OFFSET 0
    ) AS x ON true
    WHERE x.vector IS DISTINCT FROM v.vector
    UNION ALL
    SELECT o.collection, o.search_group, s.slot, o.id, NULL, -1, 1
    FROM old AS o CROSS JOIN LATERAL unnest(string_to_array(o.slots, ' ')) AS s (slot)
    WHERE (o.search_group = o.new_group AND s.slot = ANY (string_to_array(o.new_slots, ' '))) IS NOT TRUE
  ), counted AS (
    INSERT INTO search_slots AS s (space, collection, search_group, slot, version, live, dead)
    SELECT $1::bigint, c.* FROM (
      SELECT c.collection, c.search_group, c.slot, count(*), sum(c.live), sum(c.dead) FROM changed AS c
      GROUP BY c.collection, c.search_group, c.slot ORDER BY c.collection, c.search_group, c.slot
    ) AS c
    ON CONFLICT (space, collection, search_group, slot) DO UPDATE SET
      version = s.version + excluded.version, live = s.live + excluded.live, dead = s.dead + excluded.dead
    RETURNING s.number, s.collection, s.search_group, s.slot, s.version
  )
  INSERT INTO search_vectors AS x (slot, version, id, vector)
  SELECT s.number, s.version + 1 - row_number() OVER (PARTITION BY s.number ORDER BY c.id), c.id, c.vector
  FROM counted AS s CROSS JOIN changed AS c
  WHERE c.collection = s.collection AND c.search_group = s.search_group AND c.slot = s.slot
  ON CONFLICT (slot, id) DO UPDATE SET version = excluded.version, vector = excluded.vector`;

export function searchWrites(space: string, { creates, updates, removes }: Plan): Statement[] {
  const changes: Change[] = removes.map(({ collection, id }) => ({ key: { collection, id }, search: null }));
  for (const { key, search } of creates) if (search) changes.push({ key, search });
  for (const { row, record } of updates) {
    const { collection, id } = row;
    if (record.search !== undefined) changes.push({ key: { collection, id }, search: record.search });
  }
  if (changes.length === 0) return [];
  const vectors = changes.flatMap(({ key, search }) =>
    (search?.vectors ?? []).map(({ slot, values }) => ({ key, group: search?.group ?? '', slot, values })),
  );
  return [
    statement(
      writeEntries,
      space,
      arrayOf(changes.map(({ key }) => key.collection)),
      arrayOf(changes.map(({ key }) => key.id)),
      arrayOf(changes.map(({ search }) => search?.group ?? null)),
      arrayOf(changes.map(({ search }) => (search === null ? null : slotsOf(search)))),
      arrayOf(changes.map(({ search }) => search?.lexicon ?? null)),
      arrayOf(changes.map(({ key, search }) => (search === null ? null : termsOf(space, key, search)))),
      arrayOf(vectors.map(({ key }) => key.collection)),
      arrayOf(vectors.map(({ key }) => key.id)),
      arrayOf(vectors.map(({ group }) => group)),
      arrayOf(vectors.map(({ slot }) => slot)),
      arrayOf(vectors.map(({ values }) => `\\x${Buffer.from(bytesOf(values)).toString('hex')}`)),
      arrayOf(changes.map(({ search }) => search?.orderKey ?? null)),
    ),
    ...(removes.length === 0 && updates.length === 0 ? [] : trim),
  ];
}

/** Names of slots are of digits and one letter. */
function slotsOf({ vectors }: SearchEntry): string {
  return vectors.map(({ slot }) => slot).join(' ');
}

/** In the server's notation of a `tsvector`. */
function termsOf(space: string, { collection }: RecordKey, { group, terms }: SearchEntry): string {
  const mark = `${space}.${groupMark(collection, group)}.`;
  return terms.map((term) => quoted(mark + term)).join(' ');
}

function quoted(word: string): string {
  return `'${word.replace(/['\\]/g, '$&$&')}'`;
}
