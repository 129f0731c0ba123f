import { listedName } from '../grouping.ts';
import { type ListQuestion, planList } from '../list-plan.ts';
import type { Scope } from '../port.ts';
import { addBounds } from '../predicates.ts';
import { afterPrefix } from '../prefixes.ts';
import { addPredicate, Sql } from './list.ts';
import { liveSpace } from './rows.ts';
import type { Statement } from './statement.ts';

interface Bounded {
  /** Entries of each condition, as far as they were counted. */
  readonly counts: Record<string, number> | undefined;
  readonly idPrefixes: readonly string[] | undefined;
  readonly most: number;
}

/**
 * The records of a group by the entries of their rarest condition, in no order: at most one more than `most` of them, each
 * with the judgement of the other conditions.
 */
export function amongConditions(
  scope: Scope,
  question: ListQuestion,
  { counts, idPrefixes, most }: Bounded,
): Statement<{ id: string; matched: boolean }> {
  const { selection, predicates } = question;
  const plan = planList(
    question,
    predicates.map((_, index) => counts?.[`c${index}`]),
  );
  const driver = plan.driver === 'listing' ? predicates[0] : plan.driver;
  if (driver === undefined) throw new Error('there is no condition to walk');
  const sql = new Sql(scope);
  sql.add('SELECT d.id, (true');
  for (const predicate of predicates) {
    if (predicate !== driver) addPredicate(sql, selection, predicate);
  }
  if (idPrefixes !== undefined) addPrefixes(sql, idPrefixes);
  sql.add(`) AS matched FROM (SELECT d.* FROM entries AS d WHERE d.space = ${liveSpace}`);
  sql.add(
    'AND d.collection = ? AND d.name = ?',
    selection.collection.name,
    listedName(selection, driver.name),
  );
  addBounds(sql, 'd.value', driver);
  sql.add('AND d.listing_group = ? LIMIT ?::bigint) AS d', selection.group ?? '', most + 1);
  return sql.statement();
}

function addPrefixes(sql: Sql, prefixes: readonly string[]): void {
  sql.add('AND (false');
  for (const prefix of prefixes) sql.add('OR starts_with(d.listing_id, ?::text)', prefix);
  sql.add(')');
}

/** The records of a group whose listing ids begin with one of these: one range of the listing for each. */
export function amongPrefixes(
  scope: Scope,
  { selection }: ListQuestion,
  prefixes: readonly string[],
  most: number,
): Statement<{ id: string }> {
  if (prefixes.length === 0) return { text: 'SELECT NULL AS id LIMIT 0', values: [] };
  const sql = new Sql(scope);
  sql.add('SELECT d.id FROM (');
  for (const [index, prefix] of prefixes.entries()) {
    const end = afterPrefix(prefix);
    sql.add(`${index === 0 ? '' : 'UNION ALL '}(SELECT d.id FROM records AS d WHERE d.space = ${liveSpace}`);
    sql.add('AND d.collection = ? AND d.listing_group = ?', selection.collection.name, selection.group ?? '');
    sql.add('AND d.listing_id >= ?', prefix);
    if (end !== undefined) sql.add('AND d.listing_id < ?', end);
    sql.add('LIMIT ?::bigint)', most + 1);
  }
  sql.add(') AS d LIMIT ?::bigint', most + 1);
  return sql.statement();
}
