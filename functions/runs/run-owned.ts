import { limits } from '../../contracts/generated/limits.ts';
import { canonicalJson, type Json, type JsonObject } from '../kernel/canonical-json.ts';
import { invalidMember } from '../kernel/errors.ts';
import type { KeyRequest, LoadedRecords, RecordData, RecordKey, Write } from '../store/port.ts';
import { changeRun } from './change-run.ts';
import { raise } from './control.ts';
import { type Held, missingRun, present } from './held.ts';
import { leaseRecordKey, readRun, runKey, timerRecordKey } from './records.ts';
import { activeLease } from './rules/lease.ts';
import { type InboxEvent, isTerminal, type Run, type RunTimer } from './run.ts';
import type { Runtime } from './runtime.ts';
import { SMALL_WAIT_BYTES } from './work.ts';

/** Run-owned leases and recorded timers. Both belong to their run. */

export interface RunLeaseRequest {
  readonly name: string;
  /** The scope of the run. */
  readonly scope: Run['scope'];
  readonly ttlSeconds: number;
  readonly metadata: JsonObject;
}

/** Transactions that a call makes at most, while other runs take the name in between. */
const TRIES_MAX = 4;

/** Takes or extends a run-owned lease. `false`: another active run of the product and tenant holds it. */
export async function acquireRunLease(
  runtime: Runtime,
  held: Held,
  request: RunLeaseRequest,
  now: number,
): Promise<boolean> {
  const { name, ttlSeconds, metadata } = request;
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
  const [key, ...older] = placesOf(request);
  const recordAt = (at: number): RecordData => ({
    key,
    head: { name, runId: held.runId, acquiredAt: at, expiresAt: at + Math.ceil(ttlSeconds * 1_000) },
    body,
    listing: { group: held.runId, id: key.id, hidden: false, indexes: {} },
  });
  // A holder may have ended: the first transaction finds holders, the next one reads their runs.
  const holders = new Set<string>();
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const keys = [key, ...older].map((each): KeyRequest => ({ key: each }));
    for (const id of holders) keys.push({ key: runKey(id), view: 'body' });
    const { result } = await changeRun<boolean | readonly string[]>(
      runtime,
      { runId: held.runId, now, mayMoveTrace: true, keys },
      (before, found, at) => {
        const { workerId } = activeLease(before, held, at);
        const others = [key, ...older].flatMap((each) => holderOf(found.get(each), held.runId, at));
        const unread = others.filter((id) => !holders.has(id));
        if (unread.length > 0) return { change: null, result: unread };
        if (others.some((id) => mayHoldName(found, id, request.scope)))
          return { change: null, result: false };
        const event = { type: 'lease.acquired', details: { name }, workerId };
        const mine = older.filter((each) => found.get(each)?.head.runId === held.runId);
        const writes: Write[] = [{ put: recordAt(at) }, ...mine.map((each) => ({ remove: each }))];
        return { change: { run: present(before), events: [event] }, writes, result: true };
      },
    );
    if (typeof result === 'boolean') return result;
    for (const id of result) holders.add(id);
  }
  return false;
}

/** The record of the name, and the one in which release 0.5.0 kept it for all products and tenants together. */
function placesOf({ name, scope }: Pick<RunLeaseRequest, 'name' | 'scope'>): [RecordKey, ...RecordKey[]] {
  const key = leaseRecordKey(name, scope);
  return scope === null ? [key] : [key, leaseRecordKey(name, null)];
}

/** Another run whose lease on the name has not expired. */
function holderOf(record: RecordData | undefined, runId: string, now: number): string[] {
  if (record === undefined || record.head.runId === runId) return [];
  const isHeld = typeof record.head.expiresAt === 'number' && record.head.expiresAt > now;
  return isHeld ? [String(record.head.runId)] : [];
}

/** A run that has ended holds no name. In a record of release 0.5.0 the holder may be of another product and tenant. */
function mayHoldName(found: LoadedRecords, runId: string, scope: Run['scope']): boolean {
  const record = found.get(runKey(runId));
  if (record === undefined) return false;
  const run = readRun(record, runId);
  return !isTerminal(run.status) && (scope === null || isSameScope(run.scope, scope));
}

function isSameScope(one: Run['scope'], other: Run['scope']): boolean {
  return one?.productId === other?.productId && one?.tenantId === other?.tenantId;
}

export async function releaseRunLease(
  runtime: Runtime,
  held: Held,
  { name, scope }: Pick<RunLeaseRequest, 'name' | 'scope'>,
  now: number,
): Promise<boolean> {
  const places = placesOf({ name, scope });
  const keys = places.map((key): KeyRequest => ({ key }));
  const { result } = await changeRun(
    runtime,
    { runId: held.runId, now, mayMoveTrace: true, keys },
    (before, found) => {
      const { workerId } = activeLease(before, held, now);
      const mine = places.filter((key) => {
        const head = found.get(key)?.head;
        return head?.runId === held.runId && Number(head.expiresAt) > now;
      });
      if (mine.length === 0) return { change: null, result: false };
      const event = { type: 'lease.released', details: { name }, workerId };
      const change = { run: present(before), events: [event] };
      return { change, writes: mine.map((key): Write => ({ remove: key })), result: true };
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
  const grows = Buffer.byteLength(record.body ?? '') > SMALL_WAIT_BYTES;
  const request = { runId: held.runId, now, mayMoveTrace: true, grows, keys };
  await changeRun(runtime, request, (before) => {
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
    if (!isSameScope(scope, from.scope)) throw missingRun();
  };
  return raise(runtime, runId, event, guard, now);
}
