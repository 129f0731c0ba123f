import type { GroupHandlers } from '../../http/handler.ts';
import type { TracesDependencies } from './dependencies.ts';
import { exportTraces, getTrace, listTraces, pruneTraces, summarizeTraces } from './trace-operations.ts';

/** The operations of the group traces over one store. */
export function tracesHandlers(dependencies: TracesDependencies): GroupHandlers<'traces'> {
  return {
    listTraces: listTraces(dependencies),
    summarizeTraces: summarizeTraces(dependencies),
    pruneTraces: pruneTraces(dependencies),
    exportTraces: exportTraces(dependencies),
    getTrace: getTrace(dependencies),
  };
}
