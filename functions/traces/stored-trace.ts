import { parseJson } from '../kernel/json-text.ts';
import { type RecordData, StoreError } from '../store/port.ts';
import { type CountedValues, mapDimensions, type TraceCounts } from './rules/counts.ts';
import {
  COUNTS_GROUP,
  countsKey,
  OPERATION_INDEX,
  TRACE_GROUP,
  traceKey,
  traceOrder,
} from './store-collections.ts';
import type { Trace } from './trace.ts';

/** The place where a trace is counted. */
export interface CountedAt {
  readonly shard: number;
  readonly values: CountedValues;
}

export function traceRecord(trace: Trace, counted: CountedAt): RecordData {
  const { id, operation, createdAt } = trace;
  return {
    key: traceKey(id),
    head: { id, operation, createdAt, shard: counted.shard, counted: JSON.stringify(counted.values) },
    body: JSON.stringify(trace),
    listing: {
      group: TRACE_GROUP,
      id: traceOrder(Date.parse(createdAt), id),
      hidden: false,
      indexes: { [OPERATION_INDEX]: operation },
    },
  };
}

export function traceIn({ body }: RecordData): Trace {
  if (typeof body !== 'string') throw new StoreError('corrupt', 'a trace has no content');
  return parseJson(body) as Trace;
}

export interface TraceHead {
  readonly id: string;
  readonly operation: string;
  readonly createdAt: string;
  readonly counted: CountedAt;
}

export function traceHeadIn({ head }: RecordData): TraceHead {
  const values = parseJson(String(head['counted'])) as CountedValues;
  return {
    id: String(head['id']),
    operation: String(head['operation']),
    createdAt: String(head['createdAt']),
    counted: { shard: Number(head['shard']), values },
  };
}

/** The values are pairs: a value may be the name of a member that every object has. */
type CountsBody = Readonly<Record<string, readonly (readonly [string, number])[]>>;

export function countsRecord(operation: string, shard: number, { total, values }: TraceCounts): RecordData {
  return {
    key: countsKey(operation, shard),
    head: { operation, total },
    body: JSON.stringify(mapDimensions((dimension) => [...values[dimension]])),
    listing: { group: COUNTS_GROUP, id: `${operation}:${shard}`, hidden: false, indexes: {} },
  };
}

export function countsIn({ head, body }: RecordData): {
  readonly operation: string;
  readonly counts: TraceCounts;
} {
  if (typeof body !== 'string') throw new StoreError('corrupt', 'the counts of traces have no content');
  const values = parseJson(body) as CountsBody;
  const counts = {
    total: Number(head['total']),
    values: mapDimensions((dimension) => new Map(values[dimension] ?? [])),
  };
  return { operation: String(head['operation']), counts };
}
