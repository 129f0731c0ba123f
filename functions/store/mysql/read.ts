import type { KeyRequest, RecordData, RecordKey, RecordView, Scope } from '../port.ts';
import type { StatementAnswer } from './connection.ts';
import {
  columns,
  nameOf,
  type PartRow,
  type RecordRow,
  recordOf,
  smallColumns,
  widestViews,
} from './rows.ts';
import { IN_SCOPE, ofScope, Sql, type Statement } from './statement.ts';

/** The most keys of one statement; further statements travel in the same packet. */
const keysPerStatement = 200;

/** How known keys are read: a few statements to send, and how to read their answers. */
export interface KeysReading {
  readonly statements: readonly Statement[];
  /** By `nameOf` the key; absent records are left out. */
  readonly records: (
    answers: readonly StatementAnswer[],
  ) => Map<string, { readonly row: RecordRow; readonly record: RecordData }>;
}

/** Bodies are fetched only for the keys that ask for them. */
export function readingOf(scope: Scope, keys: readonly KeyRequest[]): KeysReading {
  const asked = widestViews(keys);
  const of = (...views: readonly RecordView[]): RecordKey[] =>
    [...asked.values()].filter(({ view }) => views.includes(view)).map(({ key }) => key);
  const recordStatements = [
    ...slices(of('head')).map((some) => recordsBy(scope, smallColumns, some)),
    ...slices(of('body', 'parts')).map((some) => recordsBy(scope, columns, some)),
  ];
  const partStatements = slices(of('parts')).map((some) => partsBy(scope, some));
  return {
    statements: [...recordStatements, ...partStatements],
    records(answers) {
      const parts = new Map<string, PartRow[]>();
      for (const part of rowsOf<PartRow>(answers.slice(recordStatements.length))) {
        const name = nameOf(part);
        parts.set(name, [...(parts.get(name) ?? []), part]);
      }
      const records = new Map<string, { row: RecordRow; record: RecordData }>();
      for (const row of rowsOf<RecordRow>(answers.slice(0, recordStatements.length))) {
        const name = nameOf(row);
        const record = recordOf(row, asked.get(name)?.view ?? 'head', parts.get(name));
        records.set(name, { row, record });
      }
      return records;
    },
  };
}

function recordsBy(scope: Scope, selected: string, keys: readonly RecordKey[]): Statement {
  const { text, values } = ofScope(scope);
  return new Sql()
    .add(`SELECT ${selected} FROM ${IN_SCOPE}`)
    .add(...listOf(keys))
    .add('STRAIGHT_JOIN {records} AS r FORCE INDEX (PRIMARY)')
    .add('ON r.space = s.space AND r.collection = k.collection AND r.id = k.id')
    .add(`WHERE ${text}`, ...values);
}

function partsBy(scope: Scope, keys: readonly RecordKey[]): Statement {
  const { text, values } = ofScope(scope);
  return new Sql()
    .add(`SELECT p.collection, p.id, p.filed_under, p.part_order, p.body FROM ${IN_SCOPE}`)
    .add(...listOf(keys))
    .add('STRAIGHT_JOIN {parts} AS p FORCE INDEX (parts_by_record)')
    .add('ON p.space = s.space AND p.collection = k.collection AND p.id = k.id')
    .add(`WHERE ${text}`, ...values)
    .add('ORDER BY p.collection, p.id, p.position');
}

/**
 * The keys as a leading table: each row is looked up by its whole key. With a list of values in a condition, the server
 * would read all rows of this tenant if its statistics are of small tenants and this one is large.
 */
export function listOf(keys: readonly RecordKey[]): [string, ...string[]] {
  const rows = keys.map((_, index) => (index === 0 ? 'SELECT ? AS collection, ? AS id' : 'SELECT ?, ?'));
  const text = `(${rows.join(' UNION ALL ')}) AS k`;
  return [text, ...keys.flatMap(({ collection, id }) => [collection, id])];
}

export function slices(keys: readonly RecordKey[]): RecordKey[][] {
  const count = Math.ceil(keys.length / keysPerStatement);
  return Array.from({ length: count }, (_, index) =>
    keys.slice(index * keysPerStatement, (index + 1) * keysPerStatement),
  );
}

/** The caller names the shape that its statements select. */
function rowsOf<Row>(answers: readonly StatementAnswer[]): Row[] {
  return answers.flatMap(({ rows }) => rows as readonly Row[]);
}
