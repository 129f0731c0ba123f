import {
  firstLook,
  isPoor,
  type ListPlace,
  type ListPlan,
  type ListQuestion,
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
  PartPage,
  PartsSelection,
  RecordData,
  RecordPage,
  Scope,
} from '../port.ts';
import {
  countPageOf,
  countQuestionOf,
  countsOf,
  encodedCursorOf,
  type PlaceRow,
  placesOf,
  questionOf,
  walkOf,
} from './list.ts';
import { readingOf } from './read.ts';
import { nameOf } from './rows.ts';
import type { Snapshot } from './snapshot.ts';
import { IN_SCOPE, ofScope, Sql, type Statement } from './statement.ts';

/** A page ends early once it holds this many bytes, so that memory stays flat with large bodies. */
const pageBytesMax = 32 * 1024 * 1024;

export function readPage(
  snapshot: Snapshot,
  looks: LookMemory,
  scope: Scope,
  selection: KeysSelection | ListSelection | PartsSelection,
): Promise<RecordPage | PartPage> {
  if (selection.by === 'keys') return readKeys(snapshot, scope, selection);
  if (selection.by === 'list') return readList(snapshot, looks, scope, selection);
  return readParts(snapshot, scope, selection);
}

async function readKeys(snapshot: Snapshot, scope: Scope, { keys }: KeysSelection): Promise<RecordPage> {
  const { statements, records } = readingOf(scope, keys);
  const [first, second] = statements;
  if (first === undefined) return { records: [], next: null };
  const answers = second === undefined ? await snapshot.alone(first) : await snapshot.finish(...statements);
  return { records: [...records(answers).values()].map(({ record }) => record), next: null };
}

/** Reads the places of a page first, then as many of their records as a page may hold. */
async function readList(
  snapshot: Snapshot,
  looks: LookMemory,
  scope: Scope,
  selection: ListSelection,
): Promise<RecordPage> {
  const question = questionOf(selection);
  if (question === undefined || selection.limit <= 0) return { records: [], next: null };
  const { rows, stopped } = await placesIn(snapshot, looks, scope, question);
  const { view = 'body', limit } = selection;
  const page = pageOf(rows, limit, view === 'head' ? Number.POSITIVE_INFINITY : pageBytesMax);
  const { shown } = page;
  const last = page.last ?? stopped;
  const next = last === undefined ? null : encodedCursorOf(last);
  if (shown.length === 0) {
    snapshot.leave();
    return { records: [], next };
  }
  const keys = shown.map(({ id }) => ({ collection: selection.collection.name, id }));
  const reading = readingOf(
    scope,
    keys.map((key) => ({ key, view })),
  );
  const found = reading.records(await snapshot.finish(...reading.statements));
  const records: RecordData[] = [];
  for (const key of keys) {
    const record = found.get(nameOf(key))?.record;
    if (record !== undefined) records.push(record);
  }
  return { records, next };
}

/** The matching rows in order, up to one more than the page needs. */
interface Places {
  readonly rows: readonly PlaceRow[];
  /** The position after which the next page starts, when the walk stopped before its end. */
  readonly stopped: ListPlace | undefined;
  readonly walked: number;
}

async function placesIn(
  snapshot: Snapshot,
  looks: LookMemory,
  scope: Scope,
  question: ListQuestion,
): Promise<Places> {
  const look = firstLook(looks, `${scope.kind}/${scope.name}`, question);
  if (look !== undefined) {
    const seen = await walk(snapshot, scope, look.plan, look.rows, isPoor);
    if (seen.stopped === undefined) {
      look.advice.filled();
      return seen;
    }
    look.advice.missed(seen.walked, seen.rows.length);
  }
  const plan = await planOf(snapshot, scope, question);
  if (!plan.few) return walk(snapshot, scope, plan, walkMax);
  const [{ rows }] = await snapshot.send(placesOf(scope, plan));
  return { rows, stopped: undefined, walked: rows.length };
}

async function planOf(snapshot: Snapshot, scope: Scope, question: ListQuestion): Promise<ListPlan> {
  const counts = countsOf(scope, question);
  if (counts === undefined) return planList(question, []);
  const [{ rows: counted }] = await snapshot.send(counts);
  return planList(
    question,
    question.predicates.map((_, index) => counted[0]?.[`c${index}`]),
  );
}

export async function countPage(
  snapshot: Snapshot,
  scope: Scope,
  selection: CountSelection,
): Promise<CountPage> {
  const question = countQuestionOf(selection);
  if (question === undefined) return { count: 0, next: null, reads: 1 };
  const plan = await planOf(snapshot, scope, question);
  const [{ rows }] = await snapshot.send(countPageOf(scope, plan, walkMax));
  const [counted] = rows;
  if (counted === undefined) return { count: 0, next: null, reads: 1 };
  const place = placeAfterCount(selection, counted, walkMax);
  const next = place === null ? null : encodedCursorOf(place);
  return { count: counted.matched, next, reads: readsOfCount(plan, counted) };
}

/** How much further each look goes than the one before: where most rows match, the first one is enough. */
const stride = 4;

async function walk(
  snapshot: Snapshot,
  scope: Scope,
  plan: ListPlan,
  rowsMax: number,
  isGivenUp: (walked: number, matched: number) => boolean = () => false,
): Promise<Places> {
  const { question } = plan;
  const wanted = question.selection.limit + 1;
  const rows: PlaceRow[] = [];
  let left = Math.max(rowsMax, wanted);
  let walkedRows = 0;
  let { after } = question;
  for (let size = wanted; left > 0; size = Math.min(left, size * stride)) {
    const next = { ...plan, question: { ...question, after } };
    const [{ rows: walked }] = await snapshot.send(walkOf(scope, next, size));
    rows.push(...walked.filter(({ matched }) => matched === 1));
    walkedRows += walked.length;
    if (rows.length >= wanted || walked.length < size)
      return { rows, stopped: undefined, walked: walkedRows };
    left -= size;
    after = walked.at(-1);
    if (isGivenUp(walkedRows, rows.length)) break;
  }
  return { rows, stopped: after, walked: walkedRows };
}

async function readParts(snapshot: Snapshot, scope: Scope, selection: PartsSelection): Promise<PartPage> {
  const { of, limit } = selection;
  if (limit <= 0) return { parts: [], next: null };
  const sizes = partsOf<PartSize>(scope, selection, 'p.part_order, p.body_bytes', limit + 1);
  const [{ rows }] = await snapshot.send(sizes);
  const { shown, last } = pageOf(rows, limit, pageBytesMax);
  if (shown.length === 0) {
    snapshot.leave();
    return { parts: [], next: null };
  }
  const bodies = partsOf<PartBody>(scope, selection, 'p.part_order, p.body', shown.length);
  const [found] = await snapshot.finish(bodies);
  const parts = found.rows.map(({ part_order: order, body }) => ({ of, order, body }));
  return { parts, next: last?.part_order ?? null };
}

interface PartSize {
  readonly part_order: string;
  readonly body_bytes: number;
}

interface PartBody {
  readonly part_order: string;
  readonly body: string;
}

function partsOf<Row>(
  scope: Scope,
  { of, after, direction }: PartsSelection,
  selected: string,
  limit: number,
): Statement<Row> {
  const descending = direction === 'descending';
  const { text, values } = ofScope(scope);
  const sql = new Sql();
  sql.add(`SELECT ${selected} FROM ${IN_SCOPE} {parts} AS p FORCE INDEX (PRIMARY) ON p.space = s.space`);
  sql.add(`WHERE ${text} AND p.filed_under = ?`, ...values, of);
  if (after !== undefined) sql.add(`AND p.part_order ${descending ? '<' : '>'} ?`, after);
  sql.add(`ORDER BY p.part_order ${descending ? 'DESC' : 'ASC'} LIMIT ?`, limit);
  return sql;
}

/** The rows of a page of at most `limit`; `last` is its last row when more rows follow. */
function pageOf<Row extends { readonly body_bytes: number }>(
  rows: readonly Row[],
  limit: number,
  bytesMax: number,
): { shown: readonly Row[]; last: Row | undefined } {
  let bytes = 0;
  let count = 0;
  for (const row of rows) {
    if (count === limit || (count > 0 && bytes + row.body_bytes > bytesMax)) break;
    bytes += row.body_bytes;
    count += 1;
  }
  const shown = rows.slice(0, count);
  return { shown, last: count < rows.length ? shown.at(-1) : undefined };
}
