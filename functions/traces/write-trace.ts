import type { JsonObject } from '../kernel/canonical-json.ts';
import { unlessQuotaExceeded } from '../kernel/quota.ts';
import { formatUtc } from '../kernel/timestamp.ts';
import { decisionTime, type RandomSource } from '../kernel/world.ts';
import type { TraceParts } from './parts.ts';
import { announceRetention } from './retention.ts';
import { NO_COUNTS, valuesOf, withTrace } from './rules/counts.ts';
import { boundedContent } from './rules/trace-json.ts';
import { COUNT_SHARDS, countsKey, spaceScope, traceKey } from './store-collections.ts';
import { countsIn, countsRecord, traceRecord } from './stored-trace.ts';
import type { Trace } from './trace.ts';

const operationName = /^[a-z][a-z0-9_.-]{0,127}$/;
const ID_BYTES = 16;

export interface TraceDraft {
  /** From `newTraceId`. A second write of the same id has no effect, so that repeated work has one trace. */
  readonly id: string;
  readonly operation: string;
  readonly adapter: string | null;
  readonly request: JsonObject;
  readonly resultSummary: JsonObject;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly durationMs: number;
}

export function newTraceId(random: RandomSource): string {
  return `trace-${Buffer.from(random.bytes(ID_BYTES)).toString('hex')}`;
}

/**
 * Writes and counts a trace in one commit. Members that are too large are cut, never refused. Returns whether it was stored: if the
 * space has used its quota, the trace is dropped, because a trace must not fail the call that it describes.
 */
export async function writeTrace(parts: TraceParts, space: string, draft: TraceDraft): Promise<boolean> {
  const { id, operation, adapter } = draft;
  if (!operationName.test(operation)) throw new TypeError('not the name of a traced operation');
  const { clock, random } = parts.world;
  const arrivedAt = clock.now();
  const content = boundedContent(draft);
  const values = valuesOf(draft);
  const shard = (random.bytes(1)[0] ?? 0) % COUNT_SHARDS;
  const [key, countsPlace] = [traceKey(id), countsKey(operation, shard)];
  await announceRetention(parts, space);
  const store = await parts.store();
  const keys = [
    { key, expectAbsent: true },
    { key: countsPlace, view: 'body' as const },
  ];
  const written = store.transact(spaceScope(space), { gate: countsPlace, keys }, (found) => {
    if (found.get(key) !== undefined) return { writes: [], result: true };
    const stored = found.get(countsPlace);
    const before = stored === undefined ? NO_COUNTS : countsIn(stored).counts;
    const { counts, counted } = withTrace(before, values);
    const times = { startedAt: formatUtc(draft.startedAt), durationMs: draft.durationMs };
    const createdAt = formatUtc(decisionTime(clock, arrivedAt));
    const trace: Trace = { id, operation, adapter, ...content, ...times, createdAt };
    const puts = [traceRecord(trace, { shard, values: counted }), countsRecord(operation, shard, counts)];
    return { writes: puts.map((put) => ({ put })), result: true, grows: 'job' };
  });
  return (await written.catch(unlessQuotaExceeded)) ?? false;
}
