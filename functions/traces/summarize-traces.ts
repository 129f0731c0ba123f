import { listPages, recordsOf } from '../store/pages.ts';
import type { RecordStore } from '../store/port.ts';
import type { TraceParts } from './parts.ts';
import { sumOf, type TraceCounts } from './rules/counts.ts';
import { COUNT_SHARDS, COUNTS_GROUP, spaceScope, TRACE_COUNTS, tracesOf } from './store-collections.ts';
import { countsIn, traceHeadIn } from './stored-trace.ts';

type Tally = Readonly<Record<string, number>>;

interface ValueCounts {
  readonly statusCounts: Tally;
  readonly failureClassCounts: Tally;
  readonly providerStatusCounts: Tally;
  readonly providerCounts: Tally;
  readonly capabilityCounts: Tally;
}

interface OperationSummary extends ValueCounts {
  readonly operation: string;
  readonly count: number;
  readonly firstCreatedAt: string;
  readonly latestCreatedAt: string;
  readonly adapters: readonly string[];
}

export interface TraceSummary extends ValueCounts {
  readonly operation: string | null;
  readonly totalCount: number;
  readonly operations: readonly OperationSummary[];
}

/** Reads the counts and, for each operation, its first and its last trace: the cost does not follow the number of traces. */
export async function summarizeTraces(
  { store }: TraceParts,
  space: string,
  operation: string | null,
): Promise<TraceSummary> {
  const open = await store();
  const shards = await readShards(open, space, operation);
  const operations: OperationSummary[] = [];
  for (const [name, counts] of [...shards].sort(([left], [right]) => (left < right ? -1 : 1))) {
    const summary = await summaryOf(open, space, name, sumOf(counts));
    if (summary !== null) operations.push(summary);
  }
  const all = sumOf([...shards.values()].flat());
  return { operation, totalCount: all.total, ...countsOf(all), operations };
}

async function readShards(
  store: RecordStore,
  space: string,
  operation: string | null,
): Promise<ReadonlyMap<string, readonly TraceCounts[]>> {
  // The shards of an operation stand together: their ids begin with its name.
  const from = operation === null ? {} : { afterId: `${operation}:` };
  const selection = { collection: TRACE_COUNTS, group: COUNTS_GROUP, limit: 10 * COUNT_SHARDS, ...from };
  const shards = new Map<string, TraceCounts[]>();
  for await (const record of recordsOf(listPages(store, spaceScope(space), selection))) {
    const { operation: name, counts } = countsIn(record);
    if (operation !== null && name !== operation) break;
    if (counts.total > 0) shards.set(name, [...(shards.get(name) ?? []), counts]);
  }
  return shards;
}

async function summaryOf(
  store: RecordStore,
  space: string,
  operation: string,
  counts: TraceCounts,
): Promise<OperationSummary | null> {
  const createdAt = async (direction: 'ascending' | 'descending') => {
    const selection = { ...tracesOf(operation), view: 'head', direction, limit: 1 } as const;
    for await (const record of recordsOf(listPages(store, spaceScope(space), selection)))
      return traceHeadIn(record).createdAt;
    return null;
  };
  const [latest, first] = await Promise.all([createdAt('ascending'), createdAt('descending')]);
  // A prune has removed the last trace since the counts were read.
  if (latest === null || first === null) return null;
  const adapters = [...counts.values.adapter.keys()].sort();
  const times = { firstCreatedAt: first, latestCreatedAt: latest };
  return { operation, count: counts.total, ...times, adapters, ...countsOf(counts) };
}

function countsOf({ values }: TraceCounts): ValueCounts {
  return {
    statusCounts: Object.fromEntries(values.status),
    failureClassCounts: Object.fromEntries(values.failureClass),
    providerStatusCounts: Object.fromEntries(values.providerStatus),
    providerCounts: Object.fromEntries(values.provider),
    capabilityCounts: Object.fromEntries(values.capability),
  };
}
