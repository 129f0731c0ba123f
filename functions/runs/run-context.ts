import { canonicalJson, type Json } from '../kernel/canonical-json.ts';
import { checkJson } from '../kernel/json-bytes.ts';
import { parseJson } from '../kernel/json-text.ts';
import { lazy } from '../kernel/lazy.ts';
import { unlessQuotaExceeded } from '../kernel/quota.ts';
import { formatUtc } from '../kernel/timestamp.ts';
import { checkpoint, readCheckpoint } from './checkpoint.ts';
import { checkArtifact, checkCheckpoint, checkMoment, checkReport, checkTrace } from './checks.ts';
import type { Held } from './held.ts';
import { losslessJson } from './lossless-json.ts';
import { type RunContext, RunFailure, RunSuspended } from './plugin.ts';
import { putArtifact } from './put-artifact.ts';
import { type RepeatBounds, repeatWhileLeased } from './repeat.ts';
import type { Run, WaitKind, WaitOutcome } from './run.ts';
import { slotOwner } from './run-job.ts';
import { acquireRunLease, raiseFromRun, releaseRunLease, scheduleRunTimer } from './run-owned.ts';
import type { Runtime } from './runtime.ts';
import { payloadLimit } from './start-request.ts';
import { checkName } from './text-checks.ts';
import { waitResult } from './wait-result.ts';
import { decide, recordEvent, report, wait } from './work.ts';

export interface Attempt {
  readonly run: Run;
  readonly payload: Json;
  readonly held: Held;
  readonly signal: AbortSignal;
  /** How long a wait may be repeated while the store does not answer. */
  readonly bounds: RepeatBounds;
  /** Called with the error of each failed call. */
  readonly refused: (error: unknown) => void;
}

type Calls = Omit<RunContext, keyof ReturnType<typeof factsOf>>;

/** The calls of a handler, with the same limits and fences as those of a worker over the wire. */
export function createRunContext(runtime: Runtime, attempt: Attempt): RunContext {
  const calls: Calls = callsOf(runtime, attempt);
  for (const [name, call] of Object.entries(calls) as [
    keyof Calls,
    (...given: never[]) => Promise<unknown>,
  ][]) {
    const watched = (...given: never[]) => {
      const answer = call(...given);
      // Without this, a call that the handler does not await would end the process when it fails.
      answer.catch(attempt.refused);
      return answer;
    };
    Object.assign(calls, { [name]: watched });
  }
  return { ...factsOf(attempt), ...calls };
}

function factsOf({ run, payload, signal }: Attempt) {
  return {
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
  return {
    async report(progress) {
      await report(runtime, held, checkReport(progress), now());
    },
    decide: decided.get,
    log: (message, options = {}) => recorded({ type: 'log', message, ...options }),
    trace: (type, options = {}) => recorded({ type, ...options }),
    putArtifact: async (artifact) =>
      putArtifact(
        runtime,
        held,
        await checkArtifact(artifact, runtime.world.turns.of(slotOwner(run) ?? '')),
        now(),
      ),
    async writeCheckpoint(key, content, metadata = {}) {
      if (run.job !== undefined) await runtime.world.turns.pause(run.job.space);
      const write = checkCheckpoint({ key, content: plain(content), metadata });
      return checkpoint(runtime, held, { ...write, isOfJob: run.job !== undefined }, now());
    },
    readCheckpoint: async (key) => readCheckpoint(runtime, held, checkName(key, '/key'), now()),
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
    async waitForExternalEvent(name, { timeoutAt } = {}) {
      const dueAt = timeoutAt === undefined ? null : checkMoment(timeoutAt, now());
      const request = { kind: 'external_event' as const, name, dueAt, json: null, bytes: 0 };
      return waitResult(runtime, run.id, await waitOrSuspend(runtime, attempt, request));
    },
    async waitForTimer(name, fireAt, timerPayload = null) {
      const dueAt = checkMoment(fireAt, now());
      const request = { kind: 'timer' as const, name, dueAt, ...bounded(timerPayload) };
      return waitResult(runtime, run.id, await waitOrSuspend(runtime, attempt, request));
    },
  };
}

/** Ends the run where its cancellation was requested before. */
async function decideJob(runtime: Runtime, run: Run, held: Held, now: number): Promise<void> {
  if (run.decided === true) return;
  if (run.job === undefined) throw new TypeError('only jobs of the service decide');
  if (await decide(runtime, held, now)) return;
  const message = 'The run was cancelled before its work was done.';
  throw new RunFailure('cancelled', message, { status: 'cancelled' });
}

/** A repeat of the named wait gets the outcome that an unanswered one took. */
async function waitOrSuspend(
  runtime: Runtime,
  { held, bounds }: Attempt,
  request: {
    readonly kind: WaitKind;
    readonly name: string;
    readonly dueAt: number | null;
    readonly json: Json;
    readonly bytes: number;
  },
): Promise<WaitOutcome> {
  const { kind, dueAt, json: payload, bytes } = request;
  const name = checkName(request.name, '/name');
  const write = { id: runtime.ids.next(), requestHash: '' };
  const { world } = runtime;
  const { outcome } = await repeatWhileLeased(world, bounds, () =>
    wait(runtime, held, { kind, name, dueAt, payload, bytes, write }, world.clock.now()),
  );
  if (outcome === null) throw new RunSuspended();
  return outcome;
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
