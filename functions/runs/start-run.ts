import { ServiceError } from '../kernel/errors.ts';
import type { Full } from '../kernel/full.ts';
import { decisionTime } from '../kernel/world.ts';
import type { KeyRequest, LoadedRecords, RecordKey, Write } from '../store/port.ts';
import {
  type ActiveCounter,
  type ActiveCounts,
  ceilingOf,
  countedBy,
  countersOf,
  countsIn,
  fullOf,
  incremented,
  isFinal,
  isFull,
  sharesHold,
  sumOfCounts,
} from './active-runs.ts';
import { queueFull } from './admission.ts';
import { afterWrite, announceChange } from './announcements.ts';
import { traceLimits } from './change-run.ts';
import { checkpointsHash, firstCheckpointWrites } from './first-checkpoints.ts';
import { removeRun } from './maintenance/remove-run.ts';
import {
  admissionKey,
  keyHashOf,
  readRun,
  retentionOwner,
  runKey,
  runRecord,
  shardOf,
  valueKey,
} from './records.ts';
import { leaseRun, type RunLeaseGrant } from './rules/lease.ts';
import { createRun, rejectionOf, type StartRequest } from './rules/start.ts';
import { type Change, type Run, wasRefused } from './run.ts';
import { ownerOfRun } from './run-job.ts';
import type { Runtime } from './runtime.ts';
import { withTrace } from './trace.ts';
import { type NewValue, PAYLOAD_VALUE, storedValue } from './values.ts';

export interface Started {
  readonly run: Run;
  readonly replayed: boolean;
  /** The start replaced payload and moment of a run that another start had made. */
  readonly replaced?: true;
}

/** Further records that are read and written in the transaction of a start. */
export interface StartBeside {
  readonly gate: RecordKey;
  readonly keysOf: (runId: string) => readonly KeyRequest[];
  /** Throws if the run may not be started. Called again if a rival changed a record. */
  readonly writesOf: (found: LoadedRecords, run: Run, now: number) => readonly Write[];
}

/**
 * Admits a run: one transaction creates the run, uses its idempotency key and increments the active count. A used key
 * returns its run if handler, plugin and payload are the same, else throws `idempotency_conflict`. Throws
 * `queue_full`, without storing anything, at the ceiling. A refused run stores no payload and uses no key. A `grant`
 * leases the run in the same transaction.
 */
export async function startRun(
  runtime: Runtime,
  request: StartRequest,
  grant: RunLeaseGrant | null = null,
  beside: StartBeside | null = null,
): Promise<Started> {
  runtime.policies.checkStart(request);
  const { clock } = runtime.world;
  const { counterShards } = runtime.options;
  const ceiling = ceilingOf(runtime.options, request.job !== undefined);
  const first = runtime.ids.next();
  const firstShard = shardOf(first, counterShards);
  let full: Full | null = null;
  let counts: ActiveCounts = {};
  for (let step = 0; full === null || step < counterShards; step += 1) {
    const shard = (firstShard + step) % counterShards;
    const id = idIn(runtime, first, shard);
    // The time of the write, not of the request: run times must follow the order of their ids, by which lists are
    // sorted.
    const now = clock.now();
    const attempt: Attempt = { request, now, grant, id, freedOf: null, beside };
    let outcome = await admit(runtime, attempt);
    if (outcome.kind === 'replay') {
      const used = await usedBy(runtime, outcome.admission);
      if (!wasRefused(used)) {
        checkSame(runtime, request, outcome.admission, used);
        return { run: used, replayed: true };
      }
      // Releases up to 0.5.0 let a refused run use its key.
      outcome = await admit(runtime, { ...attempt, freedOf: used.id });
      if (outcome.kind === 'replay')
        throw new ServiceError('store_contention', 'Another start has just used this key');
    }
    if (outcome.kind === 'admitted') {
      runtime.scopes.saw(outcome.run);
      await announceChange(runtime, undefined, outcome.run, now);
      if (outcome.mustBound === true) await boundRefused(runtime, outcome.run, now);
      return { run: outcome.run, replayed: false };
    }
    const { counter } = outcome;
    counts = sumOfCounts(counts, outcome.counts);
    // A share without shards was read with each of them.
    full = fullOf(runtime.options, counter, isFinal(counter) ? outcome.counts : counts);
    // Another shard may have room, but the share of an owner has no shards.
    if (ceiling === null || isFinal(counter)) break;
  }
  throw queueFull(request, first, clock.now(), full);
}

/**
 * The run that this request started before, without starting one; `null` where its key is free. Throws `idempotency_conflict`
 * where the key was used for another request.
 */
export async function findStarted(runtime: Runtime, request: StartRequest): Promise<Run | null> {
  const keyed = await findKeyed(runtime, request);
  if (keyed === null) return null;
  checkSame(runtime, request, keyed.admission, keyed.run);
  return keyed.run;
}

/** Whether the key of the request was used before, for this request or another one. */
export async function isKeyUsed(runtime: Runtime, request: StartRequest): Promise<boolean> {
  return (await findKeyed(runtime, request)) !== null;
}

async function findKeyed(
  runtime: Runtime,
  request: StartRequest,
): Promise<{ readonly admission: Admission; readonly run: Run } | null> {
  const keyHash = request.idempotencyKey === null ? null : keyHashOf(request.idempotencyKey);
  if (keyHash === null) return null;
  const store = await runtime.store();
  const keys = [{ key: admissionKey(request, keyHash) }];
  const [taken] = (await store.query(runtime.scope, { by: 'keys', keys })).records;
  if (taken === undefined) return null;
  const admission = taken.head as unknown as Admission;
  const run = await usedBy(runtime, admission);
  return wasRefused(run) ? null : { admission, run };
}

/** Draws an id that belongs to the shard: the shard must follow from the id alone. */
function idIn(runtime: Runtime, first: string, shard: number): string {
  const { counterShards } = runtime.options;
  let id = first;
  while (shardOf(id, counterShards) !== shard) id = runtime.ids.next();
  return id;
}

const NOTHING: NewValue = { json: null, bytes: 4 };

interface Admission {
  readonly runId: string;
  readonly handlerId: string;
  /** As requested. */
  readonly askedPluginId: string | null;
  /** The plugin of the run: requested, or else the handler's at that time. */
  readonly pluginId: string | null;
  readonly payloadHash: string;
  /** Absent without first checkpoints. */
  readonly checkpointsHash?: string;
}

type Outcome =
  | { readonly kind: 'admitted'; readonly run: Run; readonly mustBound?: boolean }
  | { readonly kind: 'replay'; readonly admission: Admission }
  | { readonly kind: 'full'; readonly counter: ActiveCounter; readonly counts: ActiveCounts };

interface Attempt {
  readonly request: StartRequest;
  readonly now: number;
  readonly grant: RunLeaseGrant | null;
  readonly id: string;
  /** A refused run whose use of the idempotency key does not count. */
  readonly freedOf: string | null;
  readonly beside: StartBeside | null;
}

async function admit(runtime: Runtime, attempt: Attempt): Promise<Outcome> {
  const { request } = attempt;
  const handler = runtime.registry.startable(request.handlerId, request.job !== undefined, request.scope);
  if (rejectionOf(request, handler) === null) return write(runtime, attempt, handler, null);
  const { refused } = runtime;
  const owner = retentionOwner(request);
  const { oldestId, mustList } = refused.place(owner);
  let outcome: Outcome | null = null;
  try {
    outcome = await write(runtime, attempt, handler, oldestId);
  } finally {
    // Without its write, the oldest run stays and the process no longer knows it.
    if (outcome?.kind === 'admitted') refused.stored(owner, outcome.run.id);
    else if (oldestId !== null) refused.forget(owner);
  }
  return outcome.kind === 'admitted' ? { ...outcome, mustBound: mustList } : outcome;
}

/**
 * Removes the refused starts of this owner beyond the newest 50. After a failure the next refused start tries again.
 */
async function boundRefused(runtime: Runtime, run: Run, now: number): Promise<void> {
  const { refused, scope } = runtime;
  const owner = retentionOwner(run);
  const done = await afterWrite(runtime, 'Older refused starts could not be removed', async () => {
    for (const older of await refused.list(await runtime.store(), scope, owner))
      await removeRun(runtime, older, now);
  });
  if (!done) refused.forget(owner);
}

async function write(
  runtime: Runtime,
  { request, now, grant, id, freedOf, beside }: Attempt,
  handler: ReturnType<Runtime['registry']['startable']>,
  oldestRefused: string | null,
): Promise<Outcome> {
  const baseId = runtime.ids.next();
  const keyHash = request.idempotencyKey === null ? null : keyHashOf(request.idempotencyKey);
  const reservation = keyHash === null ? null : admissionKey(request, keyHash);
  const rejected = rejectionOf(request, handler) !== null;
  const kept = rejected ? NOTHING : { json: request.payload, bytes: request.payloadBytes };
  const payload = storedValue(id, PAYLOAD_VALUE, kept);
  const counters = rejected ? [] : countersOf(runtime.options, { ...request, id });
  const keys: KeyRequest[] = [{ key: runKey(id), expectAbsent: true }];
  if (reservation !== null) keys.push({ key: reservation });
  keys.push(...counters.map(({ key }) => ({ key })));
  if (payload.write !== null) keys.push({ key: valueKey(payload.record), expectAbsent: true });
  const first = rejected ? [] : firstCheckpointWrites(id, request.checkpoints, now);
  keys.push(...first.map(({ record }) => ({ key: record.key, expectAbsent: true })));
  keys.push(...(beside?.keysOf(id) ?? []));
  const oldest = oldestRefused === null ? null : runKey(oldestRefused);
  if (oldest !== null) keys.push({ key: oldest });
  const store = await runtime.store();
  const gate = beside?.gate ?? reservation ?? runKey(id);
  const owner = ownerOfRun(request);
  return store.transact<Outcome>(runtime.scope, { gate, keys, frees: request.frees === true }, (found) => {
    const taken = reservation === null ? undefined : found.get(reservation);
    if (taken !== undefined && taken.head.runId !== freedOf) {
      return { writes: [], result: { kind: 'replay', admission: taken.head as unknown as Admission } };
    }
    const full = fullCounter(found, counters);
    if (full !== undefined) {
      const counts = countsIn(found, counters);
      return { writes: [], result: { kind: 'full', counter: full, counts } };
    }
    const created = createRun(request, handler, { id, payload: payload.value, keyHash }, now);
    const counted: Change = {
      run: { ...created.run, ...countedBy(counters) },
      events: [...created.events, ...first.map(({ event }) => event)],
    };
    const leased =
      grant === null || rejected
        ? null
        : leaseRun(counted.run, grant, decisionTime(runtime.world.clock, now));
    const change: Change =
      leased === null ? counted : { run: leased.run, events: [...counted.events, ...leased.events] };
    const run = withTrace(change, baseId, now, traceLimits(runtime, change.run));
    const writes: Write[] = [{ put: runRecord(run) }];
    if (payload.write !== null) writes.push(payload.write);
    writes.push(...first.map(({ record }) => ({ put: record })));
    writes.push(...(beside?.writesOf(found, run, now) ?? []));
    // The same request starts once its handler is registered.
    if (reservation !== null && !rejected) writes.push({ put: admissionRecord(reservation, run, request) });
    writes.push(...counters.map((counter) => incremented(found, counter)));
    if (oldest !== null && found.get(oldest) !== undefined) writes.push({ remove: oldest });
    return { writes, result: { kind: 'admitted', run }, owner, grows: request.frees !== true && 'request' };
  });
}

/** A full share is reported first: no other shard helps it. */
function fullCounter(found: LoadedRecords, counters: readonly ActiveCounter[]): ActiveCounter | undefined {
  const shares = sharesHold(found, counters);
  const full = counters.filter((counter) => isFull(found, counter) && (shares || counter.isShare !== true));
  return full.find(isFinal) ?? full[0];
}

function admissionRecord(key: RecordKey, run: Run, { pluginId: askedPluginId, checkpoints }: StartRequest) {
  const { id: runId, handlerId, pluginId, payloadHash } = run;
  const hash = checkpointsHash(checkpoints);
  const more = hash === null ? {} : { checkpointsHash: hash };
  return { key, head: { runId, handlerId, askedPluginId, pluginId, payloadHash, ...more } };
}

async function usedBy(runtime: Runtime, { runId }: Admission): Promise<Run> {
  const store = await runtime.store();
  const { records } = await store.query(runtime.scope, {
    by: 'keys',
    keys: [{ key: runKey(runId), view: 'body' }],
  });
  const [record] = records;
  // Only a prune removes a run between the two reads, together with its key.
  if (record === undefined)
    throw new ServiceError('store_contention', 'The run of this key has just been removed');
  return readRun(record, runId);
}

/** Throws `idempotency_conflict` unless the request is the one that the run was started with. */
function checkSame(runtime: Runtime, request: StartRequest, admission: Admission, run: Run): void {
  const pluginId =
    request.pluginId ??
    runtime.registry.startable(request.handlerId, request.job !== undefined, request.scope)?.pluginId ??
    null;
  // The same requested plugin matches, also if another one is registered now; otherwise the resolved plugin must match.
  const samePlugin = admission.askedPluginId === request.pluginId || admission.pluginId === pluginId;
  const same =
    admission.handlerId === request.handlerId &&
    samePlugin &&
    admission.payloadHash === request.payloadHash &&
    (admission.checkpointsHash ?? null) === checkpointsHash(request.checkpoints);
  // A job for another subject is another intent, even where the payload is the same.
  if (!same || (run.job?.subject ?? null) !== (request.job?.subject ?? null)) throw keyConflict();
}

export function keyConflict(): ServiceError {
  const conflict = 'The idempotency key was used for another handler, plugin or payload';
  return new ServiceError('idempotency_conflict', conflict);
}
