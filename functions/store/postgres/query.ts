import {
  countQuestion,
  cursorOf,
  firstLook,
  type ListPlan,
  type ListQuestion,
  listQuestion,
  lookedForEach,
  placeAfterCount,
  planList,
  readsOfCount,
  walkMax,
} from '../list-plan.ts';
import type { LookMemory } from '../look-memory.ts';
import type {
  CountPage,
  CountSelection,
  KeysSelection,
  ListSelection,
  Part,
  PartPage,
  PartsSelection,
  RecordData,
  RecordPage,
  Scope,
} from '../port.ts';
import { type Reader } from './connection.ts';
import { countPageStatement, countStatement, type ListRow, pageStatement } from './list.ts';
import { askedKeys, type KeyRow, liveSpace, nameOf, recordOf, recordRows, selectKeys } from './rows.ts';
import { arrayOf, statement } from './statement.ts';

/** A page ends early at this many bytes, so that memory stays limited with large bodies. */
const pageBytesMax = 32 * 1024 * 1024;
/** The first look is narrower here: one statement reads all its rows, also when the first rows show that few match. */
export const lookWidths = { first: 2, wide: lookedForEach };

export function readPage(
  reader: Reader,
  looks: LookMemory,
  scope: Scope,
  selection: KeysSelection | ListSelection | PartsSelection,
): Promise<RecordPage | PartPage> {
  if (selection.by === 'keys') return readKeys(reader, scope, selection);
  if (selection.by === 'list') return readList(reader, looks, scope, selection);
  return readParts(reader, scope, selection);
}

async function readKeys(reader: Reader, scope: Scope, selection: KeysSelection): Promise<RecordPage> {
  const keys = askedKeys(selection.keys);
  const views = new Map(keys.map(({ key, view }) => [nameOf(key), view]));
  const [rows] = await reader.send(
    statement<KeyRow>(
      selectKeys,
      scope.kind,
      scope.name,
      arrayOf(keys.map(({ key }) => key.collection)),
      arrayOf(keys.map(({ key }) => key.id)),
      arrayOf(keys.map(({ view }) => view)),
    ),
  );
  const records = recordRows(rows).map((row) => recordOf(row, views.get(nameOf(row)) ?? 'head'));
  return { records, next: null };
}

async function readList(
  reader: Reader,
  looks: LookMemory,
  scope: Scope,
  selection: ListSelection,
): Promise<RecordPage> {
  const question = listQuestion(selection);
  if (question === undefined) return { records: [], next: null };
  const look = firstLook(looks, `${scope.kind}/${scope.name}`, question);
  if (look !== undefined) {
    const [seen] = await reader.send(pageStatement(scope, look.plan, pageBytesMax, look.rows));
    const { page, isCut } = pageOf(seen, selection, look.rows);
    if (!isCut) {
      look.advice.filled();
      return page;
    }
    look.advice.missed(look.rows, page.records.length);
  }
  const plan = await planOf(reader, scope, question);
  const [rows] = await reader.send(pageStatement(scope, plan, pageBytesMax));
  return pageOf(rows, selection, walkMax).page;
}

export async function countPage(reader: Reader, scope: Scope, selection: CountSelection): Promise<CountPage> {
  const question = countQuestion(selection);
  if (question === undefined) return { count: 0, next: null, reads: 1 };
  const plan = await planOf(reader, scope, question);
  const [[counted]] = await reader.send(countPageStatement(scope, plan));
  if (counted === undefined) return { count: 0, next: null, reads: 1 };
  const place = placeAfterCount(selection, counted, walkMax);
  const next = place === null ? null : cursorOf(place);
  return { count: counted.matched, next, reads: readsOfCount(plan, counted) };
}

async function planOf(reader: Reader, scope: Scope, question: ListQuestion): Promise<ListPlan> {
  const counting = countStatement(scope, question);
  const [counts = {}] = counting === undefined ? [] : (await reader.send(counting))[0];
  return planList(
    question,
    question.predicates.map((_, index) => counts[`c${index}`]),
  );
}

/** `isCut`: the walk has read all rows that it may read. */
function pageOf(
  rows: readonly ListRow[],
  { limit, view = 'body' }: ListSelection,
  rowsMax: number,
): { readonly page: RecordPage; readonly isCut: boolean } {
  const records: RecordData[] = [];
  let last: ListRow | undefined;
  for (const row of rows.toSorted((left, right) => left.n - right.n)) {
    // One match more than the limit shows that there is a next page.
    if (row.matched && records.length === limit)
      return { page: { records, next: last === undefined ? null : cursorOf(last) }, isCut: false };
    if (row.matched) records.push(recordOf(row, view));
    last = row;
  }
  const isCut = last?.n === rowsMax;
  if (last === undefined || (!isCut && Number(last.bytes) < pageBytesMax))
    return { page: { records, next: null }, isCut };
  return { page: { records, next: cursorOf(last) }, isCut };
}

interface PartRow {
  readonly part_order: string;
  readonly body: string;
  readonly bytes: string;
}

async function readParts(
  reader: Reader,
  scope: Scope,
  { of, limit, after, direction }: PartsSelection,
): Promise<PartPage> {
  const descending = direction === 'descending';
  const text = `SELECT p.part_order, p.body, p.bytes FROM (
      SELECT p.*, octet_length(p.body) AS own, sum(octet_length(p.body)) OVER (ROWS UNBOUNDED PRECEDING) AS bytes
      FROM (
        SELECT p.part_order, p.body FROM parts AS p
        WHERE p.space = ${liveSpace} AND p.filed_under = $3
          ${after === undefined ? '' : `AND p.part_order ${descending ? '<' : '>'} $5`}
        ORDER BY p.part_order ${descending ? 'DESC' : 'ASC'} LIMIT $4::bigint
      ) AS p
    ) AS p WHERE p.bytes - p.own < ${pageBytesMax}`;
  const bounds = after === undefined ? [] : [after];
  const [rows] = await reader.send(
    statement<PartRow>(text, scope.kind, scope.name, of, limit + 1, ...bounds),
  );
  const parts = rows.slice(0, limit).map((row): Part => ({ of, order: row.part_order, body: row.body }));
  const more = rows.length > limit || Number(rows.at(-1)?.bytes ?? 0) >= pageBytesMax;
  return { parts, next: more ? (parts.at(-1)?.order ?? null) : null };
}
