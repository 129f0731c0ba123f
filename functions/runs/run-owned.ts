import { limits } from '../../contracts/generated/limits.ts';
import { canonicalJson, type Json, type JsonObject } from '../kernel/canonical-json.ts';
import { invalidMember } from '../kernel/errors.ts';
import type { RecordData } from '../store/port.ts';
import { changeRun } from './change-run.ts';
import { raise } from './control.ts';
import { type Held, missingRun } from './held.ts';
import { leaseRecordKey, readRun, runKey, timerRecordKey } from './records.ts';
import { activeLease } from './rules/lease.ts';
import type { InboxEvent, Run, RunTimer } from './run.ts';
import type { Runtime } from './runtime.ts';

/** Run-owned leases and recorded timers. Both belong to their run. */

export interface RunLeaseRequest {
  readonly name: string;
  readonly ttlSeconds: number;
  readonly metadata: JsonObject;
}

/** Takes or extends a run-owned lease; `false` while another run holds the name. */
export async function acquireRunLease(
  runtime: Runtime,
  held: Held,
  { name, ttlSeconds, metadata }: RunLeaseRequest,
  now: number,
): Promise<boolean> {
  if (!(ttlSeconds > 0 && ttlSeconds <= limits.executionLeaseSecondsMax)) {
    const detail = `must be above 0 and at most ${limits.executionLeaseSecondsMax} seconds`;
    throw invalidMember('/ttlSeconds', detail, 'limit_exceeded');
  }
  const body = canonicalJson(metadata);
  if (Buffer.byteLength(body) > limits.executionStatusDetailsBytesMax) {
    throw invalidMember(
      '/metadata',
      `must be at most ${limits.executionStatusDetailsBytesMax} bytes`,
      'limit_exceeded',
    );
  }
  const key = leaseRecordKey(name);
  const expiresAt = now + Math.ceil(ttlSeconds * 1_000);
  const record: RecordData = {
    key,
    head: { name, runId: held.runId, acquiredAt: now, expiresAt },
    body,
    listing: { group: held.runId, id: key.id, hidden: false, indexes: {} },
  };
  const { result } = await changeRun(
    runtime,
    { runId: held.runId, now, mayMoveTrace: true, keys: [{ key }] },
    (before, found) => {
      const { workerId } = activeLease(before, held, now);
      if (before === undefined || isHeldByOther(found.get(key), held.runId, now))
        return { change: null, result: false };
      const event = { type: 'lease.acquired', details: { name }, workerId };
      return { change: { run: before, events: [event] }, writes: [{ put: record }], result: true };
    },
  );
  return result;
}

function isHeldByOther(record: RecordData | undefined, runId: string, now: number): boolean {
  if (record === undefined || record.head.runId === runId) return false;
  return typeof record.head.expiresAt === 'number' && record.head.expiresAt > now;
}

export async function releaseRunLease(
  runtime: Runtime,
  held: Held,
  name: string,
  now: number,
): Promise<boolean> {
  const key = leaseRecordKey(name);
  const { result } = await changeRun(
    runtime,
    { runId: held.runId, now, mayMoveTrace: true, keys: [{ key }] },
    (before, found) => {
      const { workerId } = activeLease(before, held, now);
      const record = found.get(key);
      const mine = record?.head.runId === held.runId && Number(record.head.expiresAt) > now;
      if (before === undefined || !mine) return { change: null, result: false };
      const event = { type: 'lease.released', details: { name }, workerId };
      return { change: { run: before, events: [event] }, writes: [{ remove: key }], result: true };
    },
  );
  return result;
}

export async function scheduleRunTimer(
  runtime: Runtime,
  held: Held,
  { name, fireAt, payload }: { readonly name: string; readonly fireAt: number; readonly payload: Json },
  now: number,
): Promise<RunTimer<Json>> {
  const timer: RunTimer<Json> = { id: runtime.ids.next(), name, fireAt, createdAt: now, payload };
  const key = timerRecordKey(held.runId, timer.id);
  const record: RecordData = {
    key,
    head: { runId: held.runId, id: timer.id, name, fireAt, createdAt: now },
    body: canonicalJson(payload),
    listing: { group: held.runId, id: timer.id, hidden: false, indexes: {} },
  };
  const keys = [{ key, expectAbsent: true }];
  await changeRun(runtime, { runId: held.runId, now, mayMoveTrace: true, keys }, (before) => {
    const { workerId } = activeLease(before, held, now);
    const event = { type: 'timer.scheduled', details: { timerId: timer.id, name }, workerId };
    const change = before === undefined ? null : { run: before, events: [event] };
    return { change, writes: [{ put: record }], result: null };
  });
  return timer;
}

/**
 * Raises an event. Into its own run a handler needs its lease; another run must have the same product and tenant,
 * since knowing an id gives no right to the run.
 */
export async function raiseFromRun(
  runtime: Runtime,
  from: Run,
  held: Held,
  { runId, event }: { readonly runId: string; readonly event: Parameters<typeof raise>[2] },
  now: number,
): Promise<InboxEvent> {
  if (runId === from.id) return raise(runtime, runId, event, (run) => void activeLease(run, held, now), now);
  const store = await runtime.store();
  const key = runKey(from.id);
  const { records } = await store.query(runtime.scope, { by: 'keys', keys: [{ key, view: 'body' }] });
  activeLease(records[0] === undefined ? undefined : readRun(records[0], from.id), held, now);
  const guard = ({ scope }: Run) => {
    const same = scope?.productId === from.scope?.productId && scope?.tenantId === from.scope?.tenantId;
    if (!same) throw missingRun();
  };
  return raise(runtime, runId, event, guard, now);
}
