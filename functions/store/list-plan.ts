import { cursorError, readCursor, writeCursor } from './cursor.ts';
import { checkGroup, listedName } from './grouping.ts';
import type { LookAdvice, LookMemory } from './look-memory.ts';
import type { CountSelection, ListSelection } from './port.ts';
import { addBounds, isEquality, mergePredicates, type Predicate, type SqlText } from './predicates.ts';
import { afterPrefix } from './prefixes.ts';

/**
 * How the SQL providers answer a list: which rows to walk, in which order, and which checks to make on each. All of them
 * keep a table `records` and a table `entries` with one row for each projected index; each writes the plan in its own SQL.
 */
export interface ListPlan {
  readonly question: ListQuestion;
  /** The rows to walk: the entries of one predicate, or the listed records. The alias in SQL is `d`. */
  readonly driver: ListDriver;
  /** The driver's entries are counted and few; other drivers have to be walked with care. */
  readonly few: boolean;
  readonly table: 'records' | 'entries';
  /** The other conditions that each row of the driver must fulfil. */
  readonly others: readonly Predicate[];
  /** Whether the driver's rows include hidden records that the selection excludes. */
  readonly skipsHidden: boolean;
  /** Whether the order is by another index than the driver's: then its rows are looked up and sorted. */
  readonly sorted: boolean;
  /** The driver's own index gives the rows in the order of the list. */
  readonly inOrder: boolean;
}

export type ListDriver = Predicate | 'listing';

/** A selection whose predicates on one index are merged. */
export interface ListQuestion {
  readonly selection: ListSelection;
  readonly predicates: readonly Predicate[];
  /** Absent also where an equality fixes the value, so that group and id alone order the list. */
  readonly orderBy: string | undefined;
  readonly after: ListPlace | undefined;
  /** Counts alone have one. */
  readonly idPrefix?: string | undefined;
}

/** The position of a record in a list; a cursor holds it. `value` only where an index orders the list. */
export interface ListPlace {
  readonly value: string | null;
  readonly listing_group: string;
  readonly listing_id: string;
}

/** The most index rows of one page. A page that has read all of them is short. */
export const walkMax = 5000;

/** A predicate with at most this many entries is read whole and sorted instead of walking the order's index. */
const fewEntries = 1000;

/** A count of entries goes no further than this: more are many. */
export const countMax = fewEntries + 1;

/** `undefined` when nothing can match. */
export function listQuestion(selection: ListSelection): ListQuestion | undefined {
  const { equal = {}, orderBy, after, afterId, group } = selection;
  checkGroup(selection);
  const predicates = mergePredicates(selection);
  if (predicates === undefined) return undefined;
  const ordered = orderBy === undefined || Object.hasOwn(equal, orderBy) ? undefined : orderBy;
  const begin =
    afterId === undefined || group === undefined
      ? undefined
      : { value: null, listing_group: group, listing_id: afterId };
  const place = after === undefined ? begin : readPlace(after, ordered !== undefined);
  return { selection, predicates, orderBy: ordered, after: place };
}

/** A page of a count walks the rows that the list walks. `undefined` when nothing can match. */
export function countQuestion({ max, idPrefix, ...selection }: CountSelection): ListQuestion | undefined {
  const question = listQuestion({ by: 'list', limit: max, ...selection });
  return question === undefined ? undefined : { ...question, idPrefix };
}

/** The result of a walk over at most `rowsMax` rows; `last` is the listing id of its last row. */
export interface CountedRows {
  readonly walked: number;
  readonly matched: number;
  readonly last: string | null;
}

/** The position at which a count continues; `null` after the last row. */
export function placeAfterCount(
  { group }: CountSelection,
  { walked, last }: CountedRows,
  rowsMax: number,
): ListPlace | null {
  return last === null || walked < rowsMax ? null : { value: null, listing_group: group, listing_id: last };
}

/**
 * The rows of a count that cost as much as one read of a record: with a comparison of other indexes for each row, and
 * without.
 */
const comparedPerRead = 10;
const countedPerRead = 1_000;

/** The cost of a walk, in records read. */
export function readsOfCount({ others }: ListPlan, { walked }: CountedRows): number {
  return Math.max(1, Math.ceil(walked / (others.length === 0 ? countedPerRead : comparedPerRead)));
}

/** The predicates whose entries must be counted before a driver is chosen; none when there is only one choice. */
export function predicatesToCount({ predicates, orderBy }: ListQuestion): readonly Predicate[] {
  const [only, ...others] = predicates;
  if (only === undefined || others.length > 0) return predicates;
  const isFixed = only.name === orderBy || (isEquality(only) && orderBy === undefined);
  return isFixed ? [] : predicates;
}

/** Rows of the first look per record of the page: if one row in five matches, the look fills the page. */
export const lookedForEach = 5;
/** The most rows of the first look: a look for a large page would cost more than the counts that it saves. */
const lookMax = 1000;

/** Rows after which the share of those that match is known well enough. */
const sampleRows = 20;

/** Whether so few of the rows match that the look will not fill its page. */
export function isPoor(walked: number, matched: number): boolean {
  return walked >= sampleRows && matched * lookedForEach < walked;
}

/** A walk of a few rows. */
export interface Look {
  readonly plan: ListPlan;
  readonly rows: number;
  readonly advice: LookAdvice;
}

/**
 * A first look before entries are counted: it walks a limited number of rows of the order's own index. When these rows fill
 * the page or end the list, the page is final. `undefined`: there is only one driver, or earlier looks at such questions
 * found too little.
 */
export function firstLook(looks: LookMemory, scope: string, question: ListQuestion): Look | undefined {
  if (predicatesToCount(question).length === 0) return undefined;
  const advice = looks.advise(scope, question);
  if (advice.width === 0) return undefined;
  const rows = Math.min(lookMax, advice.width * (question.selection.limit + 1));
  return { plan: planList(question, []), rows, advice };
}

/**
 * Chooses the rows to walk. The order's own index needs no sort, but reads many rows in vain when a predicate matches
 * few, so a predicate with few entries is the driver. The database cannot decide this: index names are data here.
 */
export function planList(question: ListQuestion, counts: readonly (number | undefined)[]): ListPlan {
  const fewest = fewestOf(question.predicates, counts);
  const driver = fewest ?? defaultDriver(question);
  const { orderBy, predicates, selection } = question;
  const isListing = driver === 'listing';
  const sorted = orderBy !== undefined && (isListing || driver.name !== orderBy);
  return {
    question,
    driver,
    few: fewest !== undefined,
    table: isListing ? 'records' : 'entries',
    others: predicates.filter((predicate) => predicate !== driver),
    skipsHidden: isListing && selection.includeHidden !== true,
    sorted,
    inOrder: !sorted && (isListing || isEquality(driver) || orderBy !== undefined),
  };
}

function fewestOf(
  predicates: readonly Predicate[],
  counts: readonly (number | undefined)[],
): Predicate | undefined {
  let fewest: Predicate | undefined;
  let least = countMax;
  for (const [index, predicate] of predicates.entries()) {
    const entries = counts[index] ?? least;
    if (entries < least) [fewest, least] = [predicate, entries];
  }
  return fewest;
}

function defaultDriver({ predicates, orderBy }: ListQuestion): ListDriver {
  if (orderBy === undefined) return predicates.find(isEquality) ?? 'listing';
  return predicates.find(({ name }) => name === orderBy) ?? { name: orderBy, from: undefined, to: undefined };
}

/**
 * Every position lies within the prefix. With two lower bounds SQLite starts at the first, and skips all rows up to the
 * other.
 */
function addIdPrefix(sql: SqlText, { idPrefix, after }: ListQuestion): void {
  if (idPrefix === undefined) return;
  const end = afterPrefix(idPrefix);
  if (after === undefined) sql.add('AND d.listing_id > ?', idPrefix);
  if (end !== undefined) sql.add('AND d.listing_id < ?', end);
}

/** The SQL of the value that orders the list; `undefined` where group and id order it. */
export function orderValue({ question, sorted }: ListPlan): string | undefined {
  if (question.orderBy === undefined) return undefined;
  return sorted ? 'o.value' : 'd.value';
}

/**
 * The condition for the driver's rows within its bounds. The cursor is within them already; a database that would start
 * at the bound and skip up to the cursor (`skipsToCursor`) gets no bound that the cursor implies. `groupsNames` as the
 * provider writes entries.
 */
export function addDriver(
  sql: SqlText,
  plan: ListPlan,
  { skipsToCursor, groupsNames }: { readonly skipsToCursor: boolean; readonly groupsNames: boolean },
): void {
  const { driver, sorted } = plan;
  addIdPrefix(sql, plan.question);
  if (driver === 'listing') {
    sql.add('AND d.listing_group IS NOT NULL');
    return;
  }
  const { after, orderBy, selection } = plan.question;
  const covers = skipsToCursor && !sorted && after !== undefined && orderBy !== undefined;
  const covered = selection.direction === 'descending' ? 'to' : 'from';
  sql.add('AND d.name = ?', groupsNames ? listedName(selection, driver.name) : driver.name);
  addBounds(sql, 'd.value', driver, covers ? covered : undefined);
}

/** How a database compares places: by one comparison of rows, or by the equivalent ranges. */
type PlaceComparison = 'rows' | 'ranges';

interface OrderOptions {
  readonly compares: PlaceComparison;
  /** Precedes each column. */
  readonly prefix?: string;
  /** Orders by the group also where the list names one. */
  readonly namesGroup?: boolean;
}

/** Continues after the cursor and orders the rows. */
export function addOrder(
  sql: SqlText,
  { selection, after }: ListQuestion,
  value: string | undefined,
  { compares, prefix = '', namesGroup = false }: OrderOptions,
): void {
  const names: string[] = [];
  const place: string[] = [];
  const addTerm = (name: string, at: string | null | undefined): void => {
    names.push(prefix + name);
    place.push(at ?? '');
  };
  if (value !== undefined) addTerm(value, after?.value);
  if (selection.group === undefined || namesGroup) addTerm('d.listing_group', after?.listing_group);
  addTerm('d.listing_id', after?.listing_id);
  const descending = selection.direction === 'descending';
  if (after !== undefined) {
    const compare = compares === 'rows' ? addAfterRow : addAfterRanges;
    compare(sql, names, place, descending ? '<' : '>');
  }
  sql.add(`ORDER BY ${names.map((name) => (descending ? `${name} DESC` : name)).join(', ')}`);
}

function addAfterRow(
  sql: SqlText,
  names: readonly string[],
  place: readonly string[],
  sign: '<' | '>',
): void {
  const marks = names.map(() => '?').join(', ');
  sql.add(`AND (${names.join(', ')}) ${sign} (${marks})`, ...place);
}

function addAfterRanges(
  sql: SqlText,
  names: readonly string[],
  place: readonly string[],
  sign: '<' | '>',
): void {
  const ranges = names.map((name, index) => {
    const equalities = names.slice(0, index).map((each) => `${each} = ?`);
    return `(${[...equalities, `${name} ${sign} ?`].join(' AND ')})`;
  });
  const values = names.flatMap((_, index) => place.slice(0, index + 1));
  sql.add(`AND (${ranges.join(' OR ')})`, ...values);
}

export function cursorOf({ value, listing_group, listing_id }: ListPlace): string {
  return writeCursor([value, listing_group, listing_id]);
}

function readPlace(cursor: string, ordered: boolean): ListPlace {
  const [value, group, id, ...more] = readCursor(cursor);
  if (typeof group !== 'string' || typeof id !== 'string' || more.length > 0) throw cursorError();
  if (ordered) {
    if (typeof value === 'string') return { value, listing_group: group, listing_id: id };
  } else if (value === null) return { value, listing_group: group, listing_id: id };
  throw cursorError();
}
