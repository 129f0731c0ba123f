import { canonicalJson, type Json } from '../kernel/canonical-json.ts';
import { invalidMember } from '../kernel/errors.ts';
import { checkJson } from '../kernel/json-bytes.ts';
import { parseJson } from '../kernel/json-text.ts';
import { lazy } from '../kernel/lazy.ts';
import { unlessQuotaExceeded } from '../kernel/quota.ts';
import { formatUtc } from '../kernel/timestamp.ts';
import { type Checkpoint, checkpoint, readCheckpoint } from './checkpoint.ts';
import {
  checkArtifact,
  checkCheckpoint,
  checkMoment,
  checkReport,
  checkTrace,
  payloadLimit,
} from './checks.ts';
import type { Held } from './held.ts';
import { losslessJson } from './lossless-json.ts';
import { type KeptCheckpoint, type RunContext, RunFailure, type TimerMoment } from './plugin.ts';
import { putArtifact } from './put-artifact.ts';
import type { Run } from './run.ts';
import { slotOwner } from './run-job.ts';
import { runModel } from './run-model.ts';
import { acquireRunLease, raiseFromRun, releaseRunLease, scheduleRunTimer } from './run-owned.ts';
import type { Runtime } from './runtime.ts';
import { stepCallsOf } from './step-calls.ts';
import { type Attempt, waitOrSuspend, watchedCalls } from './suspending-wait.ts';
import { checkName } from './text-checks.ts';
import { waitResult } from './wait-result.ts';
import { decide, recordEvent, report } from './work.ts';

type Calls = Omit<RunContext, keyof ReturnType<typeof factsOf> | 'steps'>;

/** The calls of a handler, with the same limits and fences as those of a worker over the wire. */
export function createRunContext(runtime: Runtime, attempt: Attempt): RunContext {
  const calls: Calls = watchedCalls(callsOf(runtime, attempt), attempt.refused);
  return { ...factsOf(attempt), ...calls, steps: stepCallsOf(runtime, attempt) };
}

function factsOf({ run, payload, result, signal }: Attempt) {
  return {
    run: runModel(run, payload, result, false),
    runId: run.id,
    handlerId: run.handlerId,
    pluginId: run.pluginId,
    attempt: run.attempt,
    maxAttempts: run.retryPolicy.maxAttempts,
    correlationId: run.correlationId,
    createdAt: formatUtc(run.createdAt),
    scope: run.scope,
    payload,
    tags: run.tags,
    ...(run.job === undefined ? {} : { job: run.job }),
    signal,
  };
}

function callsOf(runtime: Runtime, attempt: Attempt): Calls {
  const { run, held } = attempt;
  const now = () => runtime.world.clock.now();
  // Each step of a job may ask: the first answer holds.
  const decided = lazy(
    () => decideJob(runtime, run, held, now()),
    () => Promise.resolve(),
  );
  const bounded = (value: Json) => boundedPayload(runtime, value);
  // As the worker kits do: an entry of the history is not worth the run.
  const recorded = async (entry: Parameters<typeof checkTrace>[0]) =>
    recordEvent(runtime, held, checkTrace(entry), now()).catch(unlessQuotaExceeded);
  const keep = async (key: string, content: Json, metadata: Checkpoint['metadata'] = {}) => {
    if (run.job !== undefined) await runtime.world.turns.pause(run.job.space);
    const write = checkCheckpoint({ key, content: plain(content), metadata });
    return withDate(await checkpoint(runtime, held, { ...write, isOfJob: run.job !== undefined }, now()));
  };
  return {
    async report(progress) {
      const { resultBytesMax } = runtime.options;
      await report(runtime, held, checkReport(progress, { resultBytesMax }), now());
    },
    decide: decided.get,
    recordEvent: (event) => recorded(event),
    log: (message, options = {}) => recorded({ type: 'log', message, ...options }),
    trace: (type, options = {}) => recorded({ type, ...options }),
    async putArtifact(artifact) {
      const turns = runtime.world.turns.of(slotOwner(run) ?? '');
      const stored = await putArtifact(runtime, held, await checkArtifact(artifact, turns), now());
      return { ...stored, createdAtUtc: formatUtc(stored.createdAt) };
    },
    checkpoint: keep,
    writeCheckpoint: keep,
    async readCheckpoint(key) {
      const found = await readCheckpoint(runtime, held, checkName(key, '/key'), now());
      return found === null ? null : withDate(found);
    },
    acquireLease: async (name, ttlSeconds, metadata = {}) =>
      acquireRunLease(
        runtime,
        held,
        { name: checkName(name, '/name'), scope: run.scope, ttlSeconds, metadata },
        now(),
      ),
    releaseLease: async (name) =>
      releaseRunLease(runtime, held, { name: checkName(name, '/name'), scope: run.scope }, now()),
    scheduleTimer: async (name, fireAt, timerPayload = null) =>
      scheduleRunTimer(
        runtime,
        held,
        {
          name: checkName(name, '/name'),
          fireAt: checkMoment(fireAt, now()),
          payload: bounded(timerPayload).json,
        },
        now(),
      ),
    async raiseEvent(name, eventPayload = null, runId = run.id) {
      const { json, bytes } = bounded(eventPayload);
      const event = { name: checkName(name, '/name'), payload: json, bytes };
      return raiseFromRun(runtime, run, held, { runId, event }, now());
    },
    ...waitsOf(runtime, attempt),
  };
}

function withDate(kept: Checkpoint): KeptCheckpoint {
  return { ...kept, updatedAtUtc: formatUtc(kept.updatedAt) };
}

type Waits = Pick<RunContext, 'waitForExternalEvent' | 'waitForTimer'>;

interface EventOptions {
  readonly timeoutSeconds?: number;
  readonly timeoutAt?: Date;
}

/** The form of the result follows that of the call: with a date, the one of earlier releases. */
function waitsOf(runtime: Runtime, attempt: Attempt): Waits {
  const now = () => runtime.world.clock.now();
  const { id } = attempt.run;
  const ended = async (request: Parameters<typeof waitOrSuspend>[2]) =>
    waitResult(runtime, id, await waitOrSuspend(runtime, attempt, request));
  const waits = {
    async waitForExternalEvent(given: string, { timeoutAt, timeoutSeconds }: EventOptions = {}) {
      const name = checkName(given, '/name');
      const until = timeoutSeconds === undefined ? timeoutAt : afterSeconds(timeoutSeconds, now());
      const dueAt = until === undefined ? null : checkMoment(until, now());
      const result = await ended({ kind: 'external_event', name, dueAt });
      if (timeoutSeconds !== undefined) return result.event;
      return timeoutAt === undefined ? { ...result.event, ...result } : result;
    },
    async waitForTimer(given: string, moment: Date | TimerMoment, timerPayload: Json = null) {
      const name = checkName(given, '/name');
      if (moment instanceof Date) {
        const request = { kind: 'timer' as const, name, dueAt: checkMoment(moment, now()) };
        return ended({ ...request, ...boundedPayload(runtime, timerPayload) });
      }
      const fireAt = 'fireAt' in moment ? moment.fireAt : afterSeconds(moment.seconds, now());
      const request = { kind: 'timer' as const, name, dueAt: checkMoment(fireAt, now()) };
      return (await ended({ ...request, ...boundedPayload(runtime, moment.payload ?? null) })).timer;
    },
  };
  return waits as Waits;
}

function afterSeconds(seconds: number, now: number): number {
  if (!(seconds >= 0)) throw invalidMember('', 'must be a number of seconds from 0');
  return now + seconds * 1_000;
}

/** Ends the run where its cancellation was requested before. */
async function decideJob(runtime: Runtime, run: Run, held: Held, now: number): Promise<void> {
  if (run.decided === true) return;
  if (run.job === undefined) throw new TypeError('only jobs of the service decide');
  if (await decide(runtime, held, now)) return;
  const message = 'The run was cancelled before its work was done.';
  throw new RunFailure('cancelled', message, { status: 'cancelled' });
}

/** Payloads of events and timers have the same limit as those of workers. */
function boundedPayload({ options }: Runtime, value: Json) {
  const json = plain(value);
  return { json, bytes: checkJson(json, payloadLimit(options.payloadBytesMax), '/payload') };
}

/** A copy as JSON: it refuses values that JSON cannot represent, and later changes by the handler have no effect. */
function plain(value: Json): Json {
  return parseJson(canonicalJson(parseJson(losslessJson(value) ?? ''))) as Json;
}
