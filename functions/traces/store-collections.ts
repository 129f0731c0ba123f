import { spaceScope } from '../collections/store-collections.ts';
import { type OwnedCollection, SERVICE_DATA } from '../store/ownership.ts';
import type { ListSelection, RecordKey } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';

export { spaceScope };

const OF_SPACE = { owner: 'space', copies: 'none' } as const;

/** Traces of a space. Copies leave them out, because they describe the work of one deployment. */
export const OPERATION_TRACES: OwnedCollection = {
  name: 'operation-traces',
  pairedIndexes: false,
  ...OF_SPACE,
};

/** The numbers of traces by their values. Several records of each operation share its count. */
export const TRACE_COUNTS: OwnedCollection = { name: 'trace-counts', pairedIndexes: false, ...OF_SPACE };

/** The spaces with traces, each with the time of its next removal of old traces. */
export const TRACE_RETENTION: OwnedCollection = {
  name: 'trace-retention',
  pairedIndexes: false,
  ...SERVICE_DATA,
};

export const traceCollections: readonly OwnedCollection[] = [OPERATION_TRACES, TRACE_COUNTS, TRACE_RETENTION];

/** The listing group of all traces of a space, newest first. */
export const TRACE_GROUP = 'trace';
export const COUNTS_GROUP = 'counts';
export const OPERATION_INDEX = 'operation';

/** Counter shards of one operation, so that concurrent writes of its traces seldom wait for each other. */
export const COUNT_SHARDS = 8;

const LAST_MOMENT = 9_999_999_999_999;
const MOMENT_DIGITS = 13;

export function traceKey(id: string): RecordKey {
  return { collection: OPERATION_TRACES.name, id: recordId('trace', id) };
}

export function countsKey(operation: string, shard: number): RecordKey {
  return { collection: TRACE_COUNTS.name, id: recordId('trace-counts', operation, String(shard)) };
}

/** Sorts as listing id: the newest first, then by id. */
export function traceOrder(createdAt: number, id: string): string {
  return `${inverted(createdAt)}:${id}`;
}

/** The listing id after all traces of this moment and of later ones. */
export function orderBefore(moment: number): string {
  return `${inverted(moment)}~`;
}

function inverted(moment: number): string {
  const bounded = Math.min(Math.max(moment, 0), LAST_MOMENT);
  return String(LAST_MOMENT - bounded).padStart(MOMENT_DIGITS, '0');
}

/** A list of traces, the newest first. */
export function tracesOf(operation: string | null): Pick<ListSelection, 'collection' | 'group' | 'equal'> {
  const equal = operation === null ? {} : { equal: { [OPERATION_INDEX]: operation } };
  return { collection: OPERATION_TRACES, group: TRACE_GROUP, ...equal };
}
