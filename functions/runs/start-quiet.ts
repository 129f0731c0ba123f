import { limits } from '../../contracts/generated/limits.ts';
import { ServiceError } from '../kernel/errors.ts';
import { parseJson } from '../kernel/json-text.ts';
import type { RecordData, RecordKey, Write } from '../store/port.ts';
import { changeRun } from './change-run.ts';
import { findRun } from './read-runs.ts';
import { admissionKey, keyHashOf, quietKey } from './records.ts';
import { type JoinedStart, replaceRun, withJoined } from './rules/quiet.ts';
import { rejectionOf, type StartRequest } from './rules/start.ts';
import { isTerminal, type Run } from './run.ts';
import type { Runtime } from './runtime.ts';
import { findStarted, keyConflict, type StartBeside, type Started, startRun } from './start-run.ts';
import { PAYLOAD_VALUE, storedValue, valueKeys, valueWrites } from './values.ts';

/** Rivals with the same key may change the pending run between its read and the transaction. */
const RIVALS_MAX = 8;

/** The run that is put off under a key, and the starts that went into it or into runs before it. */
interface Pending {
  readonly runId: string | null;
  readonly joined: readonly JoinedStart[];
}

/** Thrown within the transaction of a start, so that it writes nothing. */
class PendingChanged extends Error {}

/**
 * A start that is put off until no other with its key has come for some time. While a run of the key is put off, the start replaces its
 * payload and its moment; else it makes a run.
 */
export async function startQuietly(runtime: Runtime, request: StartRequest, now: number): Promise<Started> {
  const key = quietKey(request);
  for (let tries = 0; tries < RIVALS_MAX; tries += 1) {
    const pending = await findPending(runtime, key);
    const before = await startedBefore(runtime, request, pending);
    if (before !== null) return { run: before, replayed: true };
    const replaced = await replacePending(runtime, request, { key, pending }, now);
    if (replaced === 'rival') continue;
    if (replaced !== null) return { run: replaced, replayed: false, replaced: true };
    try {
      return await startRun(runtime, request, null, pendingBeside(key, pending));
    } catch (error) {
      if (!(error instanceof PendingChanged)) throw error;
    }
  }
  throw new ServiceError('store_contention', 'Other starts with this concurrency key were faster');
}

async function findPending({ store: open, scope }: Runtime, key: RecordKey): Promise<Pending> {
  const store = await open();
  const { records } = await store.query(scope, { by: 'keys', keys: [{ key, view: 'body' }] });
  return pendingOf(records[0]);
}

function pendingOf(record: RecordData | undefined): Pending {
  if (typeof record?.body !== 'string') return { runId: null, joined: [] };
  return { runId: String(record.head.runId), joined: parseJson(record.body) as JoinedStart[] };
}

function pendingRecord(key: RecordKey, runId: string, joined: readonly JoinedStart[]): Write {
  return { put: { key, head: { runId }, body: JSON.stringify(joined) } };
}

/** The run that answers the idempotency key of the request. Throws where the key was used for another request. */
async function startedBefore(
  runtime: Runtime,
  request: StartRequest,
  { runId, joined }: Pending,
): Promise<Run | null> {
  if (request.idempotencyKey === null || runId === null) return null;
  const keyHash = keyHashOf(request.idempotencyKey);
  const used = joined.find((each) => each.keyHash === keyHash);
  const run = used === undefined ? undefined : await findRun(runtime, used.runId);
  if (used === undefined || run === undefined) return findStarted(runtime, request);
  if (used.payloadHash !== request.payloadHash) throw keyConflict();
  return run;
}

interface Replacing {
  readonly key: RecordKey;
  readonly pending: Pending;
}

/** The replaced run; `null`: none is put off. */
async function replacePending(
  runtime: Runtime,
  request: StartRequest,
  { key, pending }: Replacing,
  now: number,
): Promise<Run | 'rival' | null> {
  const { quiet, payloadHash, idempotencyKey } = request;
  const { runId } = pending;
  const handler = runtime.registry.startable(request.handlerId, false, request.scope);
  if (runId === null || quiet === undefined || rejectionOf(request, handler) !== null) return null;
  runtime.policies.checkStart(request);
  const given = { json: request.payload, bytes: request.payloadBytes };
  const payload = storedValue(runId, PAYLOAD_VALUE, given, { version: runtime.ids.next() });
  const keyHash = idempotencyKey === null ? null : keyHashOf(idempotencyKey);
  const admission = keyHash === null ? null : admissionKey(request, keyHash);
  const keys = [
    { key, view: 'body' as const },
    ...(admission === null ? [] : [{ key: admission }]),
    ...valueKeys(payload, false),
  ];
  const change = { runId, now, keys, grows: true, mayMoveTrace: true };
  const { run, result } = await changeRun(runtime, change, (before, found, at) => {
    const current = pendingOf(found.get(key));
    const isTaken = admission !== null && found.get(admission) !== undefined;
    if (current.runId !== runId || isTaken) return { change: null, result: 'rival' as const };
    const { quietMs } = quiet;
    const replaced =
      before === undefined ? null : replaceRun(before, { payload: payload.value, payloadHash, quietMs }, at);
    if (replaced === null) return { change: null, result: 'over' as const };
    const start = keyHash === null ? null : { keyHash, runId, payloadHash };
    const joined = withJoined(current.joined, start, limits.executionJoinedStartsMax);
    const writes = [pendingRecord(key, runId, joined), ...valueWrites(payload)];
    return { change: replaced, writes, result: 'replaced' as const };
  });
  if (result === 'rival') return 'rival';
  return result === 'replaced' && run !== undefined ? run : null;
}

/** Names the new run as the one that later starts replace. */
function pendingBeside(key: RecordKey, { runId, joined }: Pending): StartBeside {
  return {
    gate: key,
    keysOf: () => [{ key, view: 'body' }],
    writesOf(found, run) {
      if (pendingOf(found.get(key)).runId !== runId) throw new PendingChanged();
      return isTerminal(run.status) ? [] : [pendingRecord(key, run.id, joined)];
    },
  };
}
