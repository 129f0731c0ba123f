import { hash } from 'node:crypto';
import { bytesOf } from '../nearest/float-bytes.ts';
import type { RecordKey, Scope, Write } from '../port.ts';
import type { SearchEntry, SearchVector } from '../search.ts';
import type { StatementAnswer } from './connection.ts';
import { listOf, slices } from './read.ts';
import { nameOf } from './rows.ts';
import { changeSlots, type SlotChange } from './search-slots.ts';
import { IN_SCOPE, ofScope, Sql, type Statement, statement, type Value } from './statement.ts';
import { insertRows } from './write.ts';

/** Represents collection and group in a row of a term: 24 hexadecimal digits. */
export function markOf(collection: string, group: string): string {
  return hash('sha256', JSON.stringify([collection, group]), 'hex').slice(0, 24);
}

/** The stored columns of an entry that a write of the record needs. */
interface EntryRow {
  readonly collection: string;
  readonly id: string;
  readonly search_group: string;
  readonly order_key: string;
  readonly slots: string;
  readonly terms: string;
}

export type StoredEntries = ReadonlyMap<string, EntryRow>;

/** Read beside the records, so that a write knows which terms and vectors it replaces. */
export function entriesReading(scope: Scope, keys: readonly RecordKey[]): readonly Statement<EntryRow>[] {
  const { text, values } = ofScope(scope);
  return slices(keys).map((some) =>
    new Sql()
      .add(`SELECT e.collection, e.id, e.search_group, e.order_key, e.slots, e.terms FROM ${IN_SCOPE}`)
      .add(...listOf(some))
      .add('STRAIGHT_JOIN {search_entries} AS e FORCE INDEX (PRIMARY)')
      .add('ON e.space = s.space AND e.collection = k.collection AND e.id = k.id')
      .add(`WHERE ${text}`, ...values),
  );
}

export function storedEntries(answers: readonly StatementAnswer[]): StoredEntries {
  const rows = answers.flatMap((answer) => answer.rows as readonly EntryRow[]);
  return new Map(rows.map((row) => [nameOf(row), row]));
}

/** A record with its new entry, or `null` where searches must not find it any more. */
interface Change {
  readonly key: RecordKey;
  readonly search: SearchEntry | null;
}

/** The statements that bring the search entries of these writes to their new state. */
export function searchWrites(space: number, writes: readonly Write[], stored: StoredEntries): Statement[] {
  const changes = writes.flatMap((write): Change[] => {
    if ('remove' in write) return [{ key: write.remove, search: null }];
    const { key, search } = write.put;
    return search === undefined ? [] : [{ key, search }];
  });
  const removals: Statement[] = [];
  const entries: Value[][] = [];
  const terms: TermRow[] = [];
  const slots: SlotChange[] = [];
  for (const { key, search } of changes) {
    const row = stored.get(nameOf(key));
    if (row === undefined && search === null) continue;
    const { gone, fresh } = changedTerms(row, key, search);
    removals.push(...deleteTerms(space, key, row?.order_key ?? '', gone));
    for (const [mark, term] of fresh) terms.push([mark, term, search?.orderKey ?? '', key.id]);
    if (search !== null) entries.push(entryRow(space, key, search));
    else removals.push(deleteEntry(space, key));
    slots.push(...changedVectors(row, key, search));
  }
  if (removals.length === 0 && entries.length === 0) return [];
  const replaced = `ON DUPLICATE KEY UPDATE search_group = VALUES(search_group), order_key = VALUES(order_key),
    lexicon_bytes = VALUES(lexicon_bytes),
    slots = VALUES(slots), terms = VALUES(terms), lexicon = VALUES(lexicon)`;
  const columns = 'space, collection, id, search_group, order_key, lexicon_bytes, slots, terms, lexicon';
  return [
    statement('INSERT IGNORE INTO {search_spaces} (space) VALUES (?)', space),
    ...removals,
    ...insertRows(`INSERT INTO {search_entries} (${columns}) VALUES`, entries, replaced),
    ...insertTerms(space, terms),
    ...changeSlots(space, slots),
  ];
}

function entryRow(space: number, { collection, id }: RecordKey, search: SearchEntry): Value[] {
  const { group, orderKey, lexicon, terms, vectors } = search;
  // Names of slots and terms hold no space.
  const slots = vectors.map(({ slot }) => slot).join(' ');
  return [
    space,
    collection,
    id,
    group,
    orderKey,
    Buffer.byteLength(lexicon),
    slots,
    terms.join(' '),
    lexicon,
  ];
}

function deleteEntry(space: number, { collection, id }: RecordKey): Statement {
  const sql = 'DELETE FROM {search_entries} WHERE space = ? AND collection = ? AND id = ?';
  return statement(sql, space, collection, id);
}

type MarkedTerm = readonly [mark: string, term: string];
type TermRow = readonly [...MarkedTerm, orderKey: string, id: string];

function changedTerms(row: EntryRow | undefined, { collection }: RecordKey, search: SearchEntry | null) {
  const before = row === undefined ? '' : markOf(collection, row.search_group);
  const after = search === null ? '' : markOf(collection, search.group);
  const stays = before === after && row?.order_key === search?.orderKey;
  const old = new Set(wordsOf(row?.terms ?? ''));
  const fresh: MarkedTerm[] = [];
  for (const term of new Set(search?.terms)) {
    if (!stays || !old.delete(term)) fresh.push([after, term]);
  }
  return { gone: [...old].map((term): MarkedTerm => [before, term]), fresh };
}

/** The most terms of one statement; each term is one lookup in the primary key. */
const termsPerStatement = 200;

function deleteTerms(
  space: number,
  { id }: RecordKey,
  orderKey: string,
  gone: readonly MarkedTerm[],
): Statement[] {
  const [first] = gone;
  if (first === undefined) return [];
  const terms = gone.map(([, term]) => term);
  return Array.from({ length: Math.ceil(terms.length / termsPerStatement) }, (_, index) => {
    const some = terms.slice(index * termsPerStatement, (index + 1) * termsPerStatement);
    const marks = some.map(() => '?').join(', ');
    return statement(
      `DELETE t FROM {search_terms} AS t FORCE INDEX (PRIMARY)
        WHERE t.space = ? AND t.mark = UNHEX(?) AND t.term IN (${marks}) AND t.order_key = ?
          AND t.id = UNHEX(?)`,
      space,
      first[0],
      ...some,
      orderKey,
      id,
    );
  });
}

const hexOf = (text: string): string => Buffer.from(text).toString('hex');

/** Rows of one statement. */
const termRows = 1_000;

/**
 * In the order of the table, so that each page is looked up about once. Session variables hold the values that many
 * rows share: a row is then little more than its term.
 */
function insertTerms(space: number, terms: readonly TermRow[]): Statement[] {
  if (terms.length === 0) return [];
  const sorted = terms
    .map((row) => ({ row, place: row.join(' ') }))
    .sort((left, right) => (left.place < right.place ? -1 : 1));
  const names = new Map<string, string>();
  for (const hex of terms.flatMap(([mark, , orderKey, id]) => [mark, hexOf(orderKey), id])) {
    if (!names.has(hex)) names.set(hex, `@h${names.size}`);
  }
  const held = [...names].map(([hex, name]) => `${name} = X'${Buffer.from(hex, 'hex').toString('hex')}'`);
  const statements: Statement[] = [statement(`SET ${held.join(', ')}`)];
  for (let at = 0; at < sorted.length; at += termRows) {
    const some = sorted.slice(at, at + termRows).map(({ row }) => row);
    const rows = some.map(
      ([mark, , orderKey, id]) =>
        `(${space},${names.get(mark)},?,${names.get(hexOf(orderKey))},${names.get(id)})`,
    );
    const text = `INSERT INTO {search_terms} (space, mark, term, order_key, id) VALUES ${rows.join(',')}`;
    statements.push(statement(text, ...some.map(([, term]) => term)));
  }
  return statements;
}

function changedVectors(
  row: EntryRow | undefined,
  { collection, id }: RecordKey,
  search: SearchEntry | null,
): SlotChange[] {
  const before = new Set(wordsOf(row?.slots ?? ''));
  const group = row?.search_group ?? '';
  const put = (search?.vectors ?? []).map(({ slot, values }: SearchVector): SlotChange => {
    const had = search?.group === group && before.delete(slot);
    const vector = Buffer.from(bytesOf(values));
    return { collection, group: search?.group ?? '', slot, id, vector, live: had ? 0 : 1 };
  });
  const gone = [...before].map(
    (slot): SlotChange => ({ collection, group, slot, id, vector: null, live: -1 }),
  );
  return [...gone, ...put];
}

function wordsOf(text: string): string[] {
  return text === '' ? [] : text.split(' ');
}
