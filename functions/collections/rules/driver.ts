import { compareUtf8 } from '../../kernel/utf8-order.ts';
import type { Filter, FilterLeaf } from './filter.ts';
import { indexValue, numberValue } from './index-value.ts';
import type { RecordCondition } from './judge.ts';
import type { RecordPath } from './path.ts';
import { indexName, type ProjectedValues } from './projection.ts';

/** How a store finds the candidates of a query. They contain every match, and the judge leaves out the others. */
export type QueryDriver =
  | { readonly by: 'partitions'; readonly partitionKeys: readonly string[] }
  | { readonly by: 'equal'; readonly index: string; readonly value: string }
  | { readonly by: 'in'; readonly index: string; readonly values: readonly string[] }
  | IndexRange
  | { readonly by: 'listing' };

/** Both bounds inclusive. */
export interface IndexRange {
  readonly by: 'range';
  readonly index: string;
  readonly from: string;
  readonly to: string;
}

const LOWEST_NUMBER = numberValue(-Number.MAX_VALUE);
const HIGHEST_NUMBER = numberValue(Number.MAX_VALUE);

/**
 * Chooses the first that the query allows of: partition keys, an equality, `in`, a numeric range or `startsWith` on an indexed
 * path, and the whole listing. Among leaves of one kind the first of the filter wins.
 */
export function chooseDriver(
  { partitionKeys, filter }: RecordCondition,
  projected: readonly RecordPath[],
): QueryDriver {
  if (partitionKeys !== null) return { by: 'partitions', partitionKeys: [...partitionKeys].sort() };
  const leaves = indexedLeaves(filter, projected);
  return (
    first(leaves, equality) ??
    first(leaves, membership) ??
    first(leaves, (leaf) => numericRange(leaf, leaves) ?? prefixRange(leaf)) ?? { by: 'listing' }
  );
}

function indexedLeaves(filter: Filter | null, projected: readonly RecordPath[]): readonly FilterLeaf[] {
  const paths = new Set(projected.map(({ text }) => text));
  return requiredLeaves(filter).filter(({ path }) => paths.has(path.text));
}

function first<Found extends QueryDriver>(
  leaves: readonly FilterLeaf[],
  driverOf: (leaf: FilterLeaf) => Found | undefined,
): Found | undefined {
  for (const leaf of leaves) {
    const driver = driverOf(leaf);
    if (driver !== undefined) return driver;
  }
  return undefined;
}

/** Conditions that every match fulfils and that indexes can check. */
export interface IndexedFacts {
  /** Values by index. */
  readonly equal: ProjectedValues;
  readonly range: IndexRange | null;
}

/** The most equalities: each costs a search of its index, and the first ones leave few records. */
const EQUALITIES_MAX = 4;

/** The facts from the required conditions of the filter; `in` gives the range from the least to the greatest value. */
export function indexedFacts(filter: Filter | null, projected: readonly RecordPath[]): IndexedFacts {
  const leaves = indexedLeaves(filter, projected);
  const equalities = leaves.flatMap((leaf) => {
    const found = equality(leaf);
    return found === undefined ? [] : [[found.index, found.value] as const];
  });
  return {
    equal: Object.fromEntries(equalities.slice(0, EQUALITIES_MAX)),
    range:
      first(leaves, (leaf) => numericRange(leaf, leaves) ?? prefixRange(leaf)) ??
      first(leaves, (leaf) => {
        const several = membership(leaf);
        return several === undefined ? undefined : rangeOf(several);
      }) ??
      null,
  };
}

/** The least range of an index that holds the values. */
export function rangeOf({
  index,
  values,
}: {
  readonly index: string;
  readonly values: readonly string[];
}): IndexRange {
  const sorted = [...values].sort(compareUtf8);
  return { by: 'range', index, from: sorted[0] ?? '', to: sorted.at(-1) ?? '' };
}

/** The leaves that every match fulfils: those that no `any` group contains. */
function requiredLeaves(filter: Filter | null): FilterLeaf[] {
  if (filter === null) return [];
  if (!('combine' in filter)) return [filter];
  return filter.combine === 'any' ? [] : filter.children.flatMap(requiredLeaves);
}

function equality(leaf: FilterLeaf): Extract<QueryDriver, { readonly by: 'equal' }> | undefined {
  if (leaf.op !== 'eq') return undefined;
  return { by: 'equal', index: indexName(leaf.path), value: indexValue(leaf.value) ?? '' };
}

function membership(leaf: FilterLeaf): Extract<QueryDriver, { readonly by: 'in' }> | undefined {
  if (leaf.op !== 'in') return undefined;
  const values = new Set([...leaf.values].map((value) => indexValue(value) ?? ''));
  return { by: 'in', index: indexName(leaf.path), values: [...values].sort() };
}

/** The range that meets all numeric comparisons with the path of `leaf`. */
function numericRange(leaf: FilterLeaf, leaves: readonly FilterLeaf[]): IndexRange | undefined {
  if (numericBound(leaf) === undefined) return undefined;
  let from = LOWEST_NUMBER;
  let to = HIGHEST_NUMBER;
  for (const each of leaves) {
    const bound = each.path.text === leaf.path.text ? numericBound(each) : undefined;
    if (bound === undefined) continue;
    const value = numberValue(bound);
    if (each.op === 'gt' || each.op === 'gte') from = value > from ? value : from;
    else to = value < to ? value : to;
  }
  return { by: 'range', index: indexName(leaf.path), from, to };
}

function numericBound(leaf: FilterLeaf): number | undefined {
  const compares = leaf.op === 'gt' || leaf.op === 'gte' || leaf.op === 'lt' || leaf.op === 'lte';
  return compares && typeof leaf.value === 'number' ? leaf.value : undefined;
}

function prefixRange(leaf: FilterLeaf): IndexRange | undefined {
  if (leaf.op !== 'startsWith') return undefined;
  // The index cuts a long prefix as it cuts the values of the matches, so they still begin with it.
  const from = indexValue(leaf.text) ?? '';
  return { by: 'range', index: indexName(leaf.path), from, to: afterPrefix(from) };
}

/** The lowest text above all that begin with `prefix`, in the order of code points. */
function afterPrefix(prefix: string): string {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  while (points.at(-1) === 0x10ffff) points.pop();
  const last = points.pop() ?? 0;
  // Skip the surrogates: a well-formed text holds none alone.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}
