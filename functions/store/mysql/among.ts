import { type ListQuestion, planList } from '../list-plan.ts';
import type { Scope } from '../port.ts';
import { addBounds } from '../predicates.ts';
import { afterPrefix } from '../prefixes.ts';
import { IN_SCOPE, ofScope, Sql, type Statement } from './statement.ts';

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
  { selection, predicates, ...question }: ListQuestion,
  { counts, idPrefixes, most }: Bounded,
): Statement<{ id: string; matched: 0 | 1 }> {
  const plan = planList(
    { selection, predicates, ...question },
    predicates.map((_, index) => counts?.[`c${index}`]),
  );
  const driver = plan.driver === 'listing' ? predicates[0] : plan.driver;
  if (driver === undefined) throw new Error('there is no condition to walk');
  const others = predicates.filter((predicate) => predicate !== driver);
  const matches = others.map((_, index) => `e${index}.id IS NOT NULL`);
  const prefixes = idPrefixes ?? [];
  if (idPrefixes !== undefined) {
    matches.push(`(${['0', ...prefixes.map(() => 'LEFT(d.listing_id, LENGTH(?)) = ?')].join(' OR ')})`);
  }
  const sql = new Sql().add(
    `SELECT d.id, (${matches.length === 0 ? '1' : matches.join(' AND ')}) AS matched`,
    ...prefixes.flatMap((prefix) => [prefix, prefix]),
  );
  const { text, values } = ofScope(scope);
  sql.add(`FROM ${IN_SCOPE} {entries} AS d FORCE INDEX (entries_by_value) ON d.space = s.space`);
  for (const [index, predicate] of others.entries()) {
    const alias = `e${index}`;
    sql.add(`LEFT JOIN {entries} AS ${alias} FORCE INDEX (PRIMARY) ON ${alias}.space = d.space`);
    sql.add(
      `AND ${alias}.collection = d.collection AND ${alias}.id = d.id AND ${alias}.name = ?`,
      predicate.name,
    );
    addBounds(sql, `${alias}.value`, predicate);
  }
  sql.add(
    `WHERE ${text} AND d.collection = ? AND d.name = ?`,
    ...values,
    selection.collection.name,
    driver.name,
  );
  addBounds(sql, 'd.value', driver);
  return sql.add('AND d.listing_group = ? LIMIT ?', selection.group ?? '', most + 1);
}

/** The records of a group whose listing ids begin with one of these: one range of the listing for each. */
export function amongPrefixes(
  scope: Scope,
  { selection }: ListQuestion,
  prefixes: readonly string[],
  most: number,
): Statement<{ id: string }> {
  const { text, values } = ofScope(scope);
  const { name } = selection.collection;
  const sql = new Sql().add('SELECT d.id FROM (');
  for (const [index, prefix] of prefixes.entries()) {
    const end = afterPrefix(prefix);
    sql.add(`${index === 0 ? '' : 'UNION ALL '}(SELECT d.id FROM ${IN_SCOPE} {records} AS d`);
    sql.add(`FORCE INDEX (records_by_listing) ON d.space = s.space WHERE ${text}`, ...values);
    sql.add('AND d.collection = ? AND d.listing_group = ?', name, selection.group ?? '');
    sql.add('AND d.listing_id >= ?', prefix);
    if (end !== undefined) sql.add('AND d.listing_id < ?', end);
    sql.add('LIMIT ?)', most + 1);
  }
  return sql.add(') AS d LIMIT ?', most + 1);
}
