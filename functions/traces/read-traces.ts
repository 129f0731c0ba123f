import { attemptsOf, type ReadCall } from '../collections/read-call.ts';
import type { ReadLane } from '../collections/read-lanes.ts';
import { listPages, recordsOf } from '../store/pages.ts';
import type { TraceParts } from './parts.ts';
import { spaceScope, traceKey, tracesOf } from './store-collections.ts';
import { traceIn } from './stored-trace.ts';
import type { Trace } from './trace.ts';

/** A trace has at most 64 KiB. */
const PAGE = 100;

export async function getTrace({ store }: TraceParts, space: string, id: string): Promise<Trace | null> {
  const keys = [{ key: traceKey(id), view: 'body' as const }];
  const [record] = (await (await store()).query(spaceScope(space), { by: 'keys', keys })).records;
  return record === undefined ? null : traceIn(record);
}

export interface TraceList {
  readonly traces: readonly Trace[];
  /** Why traces that follow are left out; `null` where none follow. */
  readonly leftOut: 'limit' | 'size' | null;
}

/**
 * The newest traces, those of one moment by their ids. `operation` `null`: of all operations. `call.grow` counts the bytes of
 * the answer as they are read, and may throw.
 */
export async function listTraces(
  { store, limits, lanes }: TraceParts,
  space: string,
  { operation, limit }: { readonly operation: string | null; readonly limit: number },
  call: ReadCall = {},
): Promise<TraceList> {
  const open = await store();
  const attempt = attemptsOf(call);
  // Read one more than requested, to know whether more follow.
  const selection = { ...tracesOf(operation), limit: Math.min(limit + 1, PAGE) };
  const read = async (lane: ReadLane): Promise<TraceList> => {
    const held = attempt();
    const traces: Trace[] = [];
    let bytes = 0;
    for await (const record of recordsOf(listPages(open, spaceScope(space), selection))) {
      const size = Buffer.byteLength(record.body ?? '');
      lane.passed(1, size);
      bytes += size;
      if (traces.length === limit) return { traces, leftOut: 'limit' };
      if (bytes > limits.answerBytesMax && traces.length > 0) return { traces, leftOut: 'size' };
      held.add(size);
      traces.push(traceIn(record));
    }
    return { traces, leftOut: null };
  };
  return lanes.run(space, read, call);
}
