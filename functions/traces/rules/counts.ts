import { storableText } from '../../collections/search/words.ts';
import type { JsonObject } from '../../kernel/canonical-json.ts';

/** The dimensions by which traces are counted. */
const dimensions = ['status', 'failureClass', 'providerStatus', 'provider', 'capability', 'adapter'] as const;
type Dimension = (typeof dimensions)[number];

/**
 * Different values of a dimension that are counted apart.
 * @testonly
 */
export const VALUES_MAX = 64;
const VALUE_LENGTH_MAX = 128;
/**
 * Under this name all further values are counted.
 * @testonly
 */
export const OTHER_VALUES = '_other';

/** The values under which one trace is counted. */
export type CountedValues = Readonly<Partial<Record<Dimension, string | undefined>>>;

export interface TraceCounts {
  readonly total: number;
  readonly values: Readonly<Record<Dimension, ReadonlyMap<string, number>>>;
}

export const NO_COUNTS: TraceCounts = {
  total: 0,
  values: {
    status: new Map(),
    failureClass: new Map(),
    providerStatus: new Map(),
    provider: new Map(),
    capability: new Map(),
    adapter: new Map(),
  },
};

/** The values of a trace, before it is cut. */
export function valuesOf(trace: {
  readonly adapter: string | null;
  readonly request: JsonObject;
  readonly resultSummary: JsonObject;
}): CountedValues {
  const sources: JsonObject = { ...trace.request, ...trace.resultSummary, adapter: trace.adapter };
  const found = dimensions.flatMap((dimension) => {
    const value = sources[dimension];
    return typeof value === 'string' && value !== ''
      ? [[dimension, storableText(value.slice(0, VALUE_LENGTH_MAX))]]
      : [];
  });
  return Object.fromEntries(found) as CountedValues;
}

/** The counts with one trace more, and the values under which they count it. */
export function withTrace(
  { total, values }: TraceCounts,
  trace: CountedValues,
): { readonly counts: TraceCounts; readonly counted: CountedValues } {
  const counted = mapDimensions((dimension) => {
    const value = trace[dimension];
    if (value === undefined) return undefined;
    const known = values[dimension];
    return known.has(value) || known.size < VALUES_MAX ? value : OTHER_VALUES;
  });
  return { counts: { total: total + 1, values: addedTo(values, counted, 1) }, counted };
}

/** The counts without a trace that they counted under these values. */
export function withoutTrace({ total, values }: TraceCounts, counted: CountedValues): TraceCounts {
  return { total: total - 1, values: addedTo(values, counted, -1) };
}

/** The sum of several counts, again with a bounded number of values: the most frequent ones, then the first by their text. */
export function sumOf(all: readonly TraceCounts[]): TraceCounts {
  const values = mapDimensions((dimension) => {
    const sum = new Map<string, number>();
    for (const { values: each } of all)
      for (const [value, count] of each[dimension]) sum.set(value, (sum.get(value) ?? 0) + count);
    return bounded(sum);
  });
  return { total: all.reduce((total, each) => total + each.total, 0), values };
}

function bounded(counts: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const others = counts.get(OTHER_VALUES) ?? 0;
  const named = [...counts].filter(([value]) => value !== OTHER_VALUES).sort(byCount);
  const rest = named.slice(VALUES_MAX).reduce((sum, [, count]) => sum + count, others);
  const kept = named.slice(0, VALUES_MAX);
  return new Map(rest === 0 ? kept : [...kept, [OTHER_VALUES, rest]]);
}

function byCount([left, leftCount]: [string, number], [right, rightCount]: [string, number]): number {
  if (leftCount !== rightCount) return rightCount - leftCount;
  return left < right ? -1 : 1;
}

function addedTo(
  values: TraceCounts['values'],
  counted: CountedValues,
  difference: number,
): TraceCounts['values'] {
  return mapDimensions((dimension) => {
    const value = counted[dimension];
    if (value === undefined) return values[dimension];
    const changed = new Map(values[dimension]);
    const count = (changed.get(value) ?? 0) + difference;
    if (count > 0) changed.set(value, count);
    else changed.delete(value);
    return changed;
  });
}

export function mapDimensions<Value>(valueOf: (dimension: Dimension) => Value): Record<Dimension, Value> {
  return Object.fromEntries(dimensions.map((each) => [each, valueOf(each)])) as Record<Dimension, Value>;
}
