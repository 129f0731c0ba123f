import type { GroupHandlers } from '../../http/handler.ts';
import type { RecordAccess } from '../../identity/record-access.ts';
import type { TraceParts } from '../../traces/parts.ts';
import { exportTraces, getTrace, listTraces, pruneTraces, summarizeTraces } from './trace-operations.ts';

/** The operations of the group traces over one store. */
export function tracesHandlers(traces: TraceParts, access: RecordAccess): GroupHandlers<'traces'> {
  return {
    listTraces: listTraces(traces, access),
    summarizeTraces: summarizeTraces(traces, access),
    pruneTraces: pruneTraces(traces, access),
    exportTraces: exportTraces(traces, access),
    getTrace: getTrace(traces, access),
  };
}
