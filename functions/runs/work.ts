import { canonicalJson, type Json, sha256 } from '../kernel/canonical-json.ts';
import { invalidMember, ServiceError } from '../kernel/errors.ts';
import type { KeyRequest, RecordData } from '../store/port.ts';
import { type ArtifactWrite, artifactRecord, type StoredArtifact } from './artifact.ts';
import { changeRun } from './change-run.ts';
import { checkpointKey, readRun, runKey, valueKey } from './records.ts';
import { type Completion, completeRun } from './rules/complete.ts';
import { activeLease, type LeaseProof, renewLease, staleLease } from './rules/lease.ts';
import { type Report, reportProgress } from './rules/report.ts';
import { type WaitRequest, waitInRun } from './rules/wait.ts';
import type { InboxEvent, Run, TraceDraft, WaitOutcome } from './run.ts';
import type { Runtime } from './runtime.ts';
import { type PreparedValue, RESULT_VALUE, storedValue } from './start-run.ts';

/** What the holder of a lease may do, in process or over the wire: every write is fenced by the proof of the lease. */
export interface Held extends LeaseProof {
  readonly runId: string;
}

export async function heartbeat(runtime: Runtime, held: Held, ttlMs: number, now: number): Promise<Run> {
  const { run } = await changeRun(runtime, { runId: held.runId, now }, (before) => ({
    change: { run: renewLease(present(before), held, ttlMs, now), events: [] },
    leaseOnly: true,
    result: null,
  }));
  return present(run);
}

/** A value that comes with a report or a completion; absent leaves the one that is there. */
export interface NewValue {
  readonly json: Json;
  readonly bytes: number;
}

export async function report(
  runtime: Runtime,
  held: Held,
  { result, ...rest }: Omit<Report, 'result'> & { readonly result?: NewValue },
  now: number,
): Promise<Run> {
  const value = prepare(runtime, held.runId, result);
  const full: Report = value === null ? rest : { ...rest, result: value.value };
  // Whoever reports a result reports several, each in the place of the one before; most that complete have reported none.
  const request = { runId: held.runId, now, mayMoveTrace: true, keys: keysOf(value, false) };
  const { run } = await changeRun(runtime, request, (before) => ({
    change: reportProgress(before, held, full, now),
    writes: writesOf(value),
    result: null,
  }));
  return present(run);
}

export async function recordEvent(
  runtime: Runtime,
  held: Held,
  event: TraceDraft,
  now: number,
): Promise<void> {
  await changeRun(runtime, { runId: held.runId, now, mayMoveTrace: true }, (before) => {
    const lease = activeLease(before, held, now);
    return {
      change: { run: present(before), events: [{ ...event, workerId: lease.workerId, byWorker: true }] },
      result: null,
    };
  });
}

export async function complete(
  runtime: Runtime,
  held: Held,
  { result, ...rest }: Omit<Completion, 'result'> & { readonly result?: NewValue },
  now: number,
): Promise<Run> {
  const value = prepare(runtime, held.runId, result);
  const full: Completion = value === null ? rest : { ...rest, result: value.value };
  const { run } = await changeRun(
    runtime,
    { runId: held.runId, now, mayEnd: true, keys: keysOf(value) },
    (before) => ({ change: completeRun(before, held, full, now), writes: writesOf(value), result: null }),
  );
  return present(run);
}

export interface Waited {
  readonly run: Run;
  /** `null`: the run is parked and the lease is over. */
  readonly outcome: WaitOutcome | null;
}

export async function wait(
  runtime: Runtime,
  held: Held,
  { payload, bytes, ...request }: Omit<WaitRequest, 'timerId' | 'payload'> & NewPayload,
  now: number,
): Promise<Waited> {
  const timerId = runtime.ids.next();
  const value = storedValue(held.runId, `timer:${timerId}`, payload, bytes, EVENT_INLINE);
  const full: WaitRequest = { ...request, timerId, payload: value.value };
  const { run, result } = await changeRun(
    runtime,
    { runId: held.runId, now, keys: keysOf(value) },
    (before) => {
      const { outcome, ...change } = waitInRun(before, held, full, now);
      // Kept only where it is this wait's: an outcome from before has its own.
      const isKept = change.run.wait?.timerId === timerId || outcome?.timer?.id === timerId;
      return { change, writes: isKept ? writesOf(value) : [], result: outcome };
    },
  );
  return { run: present(run), outcome: result };
}

/** What comes with a wait for a timer. */
interface NewPayload {
  readonly payload: Json;
  readonly bytes: number;
}

export interface CheckpointWrite {
  readonly key: string;
  readonly content: Json;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface Checkpoint extends CheckpointWrite {
  readonly runId: string;
  readonly contentHash: string;
  readonly updatedAt: number;
}

/** The last write of a key counts. It survives retries, waits and restarts. */
export async function checkpoint(
  runtime: Runtime,
  held: Held,
  { key, content, metadata }: CheckpointWrite,
  now: number,
): Promise<Checkpoint> {
  const { runId } = held;
  const contentHash = sha256(canonicalJson(content));
  const stored: Checkpoint = { runId, key, contentHash, updatedAt: now, content, metadata };
  const record: RecordData = {
    key: checkpointKey(runId, key),
    head: { runId, key, contentHash, updatedAt: now },
    body: JSON.stringify({ content, metadata }),
    listing: { group: runId, id: key, hidden: false, indexes: {} },
  };
  const request = { runId, now, mayMoveTrace: true, keys: [{ key: record.key }] };
  await changeRun(runtime, request, (before) => {
    const { workerId } = activeLease(before, held, now);
    const event = { type: 'checkpoint.written', details: { key, contentHash }, workerId };
    // What a wait gave need not be given again: the holder has kept how far it got.
    const run = { ...present(before), taken: null };
    return { change: { run, events: [event] }, writes: [{ put: record }], result: null };
  });
  return stored;
}

/** Read under an active lease. `null` where there is none; a stale lease is an error, not an absence. */
export async function readCheckpoint(
  runtime: Runtime,
  held: Held,
  key: string,
  now: number,
): Promise<Checkpoint | null> {
  const store = await runtime.store();
  const wanted = checkpointKey(held.runId, key);
  const keys: KeyRequest[] = [
    { key: runKey(held.runId), view: 'body' },
    { key: wanted, view: 'body' },
  ];
  const { records } = await store.query(runtime.scope, { by: 'keys', keys });
  const run = records.find((record) => record.key.id === runKey(held.runId).id);
  activeLease(run === undefined ? undefined : readRun(run, held.runId), held, now);
  const found = records.find(
    (record) => record.key.id === wanted.id && record.key.collection === wanted.collection,
  );
  return found === undefined ? null : readCheckpointRecord(found);
}

export function readCheckpointRecord(record: RecordData): Checkpoint {
  const { runId, key, contentHash, updatedAt } = record.head;
  const { content, metadata } = JSON.parse(record.body ?? '{}') as Pick<Checkpoint, 'content' | 'metadata'>;
  return {
    runId: String(runId),
    key: String(key),
    contentHash: String(contentHash),
    updatedAt: Number(updatedAt),
    content,
    metadata,
  };
}

/** Each write adds an artifact; names need not differ. */
export async function putArtifact(
  runtime: Runtime,
  held: Held,
  write: ArtifactWrite,
  now: number,
): Promise<StoredArtifact> {
  const id = runtime.ids.next();
  const store = await runtime.store();
  // Large bytes are put away before the transaction that names them; a stale holder must not even fill the disk.
  const { records } = await store.query(runtime.scope, {
    by: 'keys',
    keys: [{ key: runKey(held.runId), view: 'body' }],
  });
  const current = records[0] === undefined ? undefined : readRun(records[0], held.runId);
  activeLease(current, held, now);
  checkRoom(runtime, present(current));
  runtime.policies.checkArtifactName(present(current).scope, write.name);
  const prepared = await artifactRecord(runtime, held.runId, id, write, now);
  const keys: KeyRequest[] = [{ key: prepared.record.key, expectAbsent: true }];
  await changeRun(runtime, { runId: held.runId, now, mayMoveTrace: true, keys }, (before) => {
    const { workerId } = activeLease(before, held, now);
    const { name, contentHash, sizeBytes } = prepared.artifact;
    const details = { artifactId: id, name, contentHash, sizeBytes };
    const event = { type: 'artifact.written', details, workerId };
    const run = present(before);
    checkRoom(runtime, run);
    return {
      change: { run: { ...run, artifacts: run.artifacts + 1 }, events: [event] },
      writes: [{ put: prepared.record }],
      result: null,
    };
  });
  return prepared.artifact;
}

function checkRoom({ options }: Runtime, { artifacts }: Run): void {
  if (artifacts < options.artifactsPerRunMax) return;
  const detail = `must be one of at most ${options.artifactsPerRunMax} of its run`;
  throw invalidMember('/artifact', detail, 'limit_exceeded');
}

/** The run that a rule has let pass: it exists. */
function present(run: Run | undefined): Run {
  if (run === undefined) throw staleLease();
  return run;
}

function prepare(runtime: Runtime, runId: string, value: NewValue | undefined): PreparedValue | null {
  if (value === undefined) return null;
  const version = runtime.ids.next();
  return storedValue(runId, RESULT_VALUE, value.json, value.bytes, { version });
}

function keysOf(value: PreparedValue | null, expectAbsent = true): KeyRequest[] {
  return value === null || value.write === null ? [] : [{ key: valueKey(value.record), expectAbsent }];
}

function writesOf(value: PreparedValue | null) {
  return value === null || value.write === null ? [] : [value.write];
}

/** An event for the inbox of a run; a large payload is kept beside the run. */
export function preparedEvent(
  runtime: Runtime,
  runId: string,
  { name, payload, bytes }: { readonly name: string; readonly payload: Json; readonly bytes: number },
  now: number,
): { readonly event: InboxEvent; readonly value: PreparedValue } {
  const id = runtime.ids.next();
  const value = storedValue(runId, `event:${id}`, payload, bytes, EVENT_INLINE);
  return { event: { id, name, raisedAt: now, payload: value.value }, value };
}

/** A run carries all its unconsumed events with it, so only small ones ride along. */
const EVENT_INLINE = { inlineBytesMax: 1_024 } as const;

export function missingRun(): ServiceError {
  return new ServiceError('not_found', 'There is no such run');
}
