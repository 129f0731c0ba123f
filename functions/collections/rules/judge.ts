import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { compareUtf8 } from '../../kernel/utf8-order.ts';
import type { ComparisonOp, Filter, FilterLeaf, NonNullScalar } from './filter.ts';
import { isScalar } from './index-value.ts';
import { valueAt } from './path.ts';
import type { RecordValue } from './record-key.ts';

/** The conditions of a query on a record. */
export interface RecordCondition {
  /** `null`: every partition. */
  readonly partitionKeys: ReadonlySet<string> | null;
  readonly filter: Filter | null;
}

/** Reads the restriction of a query to partitions: an empty list restricts nothing. */
export function readPartitionKeys(keys: readonly string[] | null | undefined): ReadonlySet<string> | null {
  return keys === null || keys === undefined || keys.length === 0 ? null : new Set(keys);
}

/**
 * Decides for all providers whether a record matches; a store may offer any superset of the matches. Works in steps: before
 * `contains` searches a text, the generator yields the length of the text.
 */
export function* judged(
  record: RecordValue,
  { partitionKeys, filter }: RecordCondition,
): Generator<number, boolean, undefined> {
  if (partitionKeys !== null && !partitionKeys.has(record.partitionKey)) return false;
  return filter === null || (yield* judgedFilter(record, filter));
}

function* judgedFilter(record: JsonObject, filter: Filter): Generator<number, boolean, undefined> {
  if (!('combine' in filter)) return yield* judgedLeaf(valueAt(record, filter.path), filter);
  const isAny = filter.combine === 'any';
  for (const child of filter.children) if ((yield* judgedFilter(record, child)) === isAny) return isAny;
  return !isAny;
}

function* judgedLeaf(value: Json | undefined, leaf: FilterLeaf): Generator<number, boolean, undefined> {
  switch (leaf.op) {
    case 'eq':
      return value === leaf.value;
    case 'neq':
      return value !== undefined && value !== leaf.value;
    case 'in':
      return isScalar(value) && leaf.values.has(value);
    case 'exists':
      return (value !== undefined) === leaf.present;
    case 'contains':
      if (typeof value !== 'string') return false;
      yield value.length;
      return leaf.text.isIn(value);
    case 'startsWith':
      return typeof value === 'string' && value.startsWith(leaf.text);
    default:
      return compares(value, leaf.op, leaf.value);
  }
}

/** Compares numbers with numbers and strings with strings; values of other types have no order. */
function compares(value: Json | undefined, op: ComparisonOp, operand: NonNullScalar): boolean {
  if (typeof value === 'number' && typeof operand === 'number') return holds(op, value - operand);
  if (typeof value === 'string' && typeof operand === 'string') return holds(op, compareUtf8(value, operand));
  return false;
}

function holds(op: ComparisonOp, difference: number): boolean {
  switch (op) {
    case 'gt':
      return difference > 0;
    case 'gte':
      return difference >= 0;
    case 'lt':
      return difference < 0;
    default:
      return difference <= 0;
  }
}
