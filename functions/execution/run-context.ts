import { canonicalJson, type Json } from '../kernel/canonical-json.ts';
import { formatUtc } from '../kernel/timestamp.ts';
import {
  checkArtifact,
  checkCheckpoint,
  checkJson,
  checkMoment,
  checkName,
  checkReport,
  checkTrace,
} from './checks.ts';
import { raise } from './control.ts';
import { type RunContext, RunSuspended } from './plugin.ts';
import { loadValues } from './read-runs.ts';
import type { Run, WaitKind, WaitOutcome } from './run.ts';
import { acquireRunLease, releaseRunLease, scheduleRunTimer } from './run-owned.ts';
import type { Runtime } from './runtime.ts';
import { payloadLimit } from './start-request.ts';
import { checkpoint, type Held, putArtifact, readCheckpoint, recordEvent, report, wait } from './work.ts';

export interface Attempt {
  readonly run: Run;
  readonly payload: Json;
  readonly held: Held;
  readonly signal: AbortSignal;
}

/** The handler's side of a run: the same operations, under the same limits and fences, as a worker has over the wire. */
export function createRunContext(runtime: Runtime, { run, payload, held, signal }: Attempt): RunContext {
  const now = () => runtime.world.clock.now();
  const bounded = (value: Json) => boundedPayload(runtime, value);
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
    signal,
    async report(progress) {
      await report(runtime, held, checkReport(progress), now());
    },
    async log(message, options = {}) {
      await recordEvent(runtime, held, checkTrace({ type: 'log', message, ...options }), now());
    },
    async trace(type, options = {}) {
      await recordEvent(runtime, held, checkTrace({ type, ...options }), now());
    },
    putArtifact: async (artifact) => putArtifact(runtime, held, checkArtifact(artifact), now()),
    writeCheckpoint: async (key, content, metadata = {}) =>
      checkpoint(runtime, held, checkCheckpoint({ key, content: plain(content), metadata }), now()),
    readCheckpoint: async (key) => readCheckpoint(runtime, held, checkName(key, '/key'), now()),
    acquireLease: async (name, ttlSeconds, metadata = {}) =>
      acquireRunLease(runtime, held, { name: checkName(name, '/name'), ttlSeconds, metadata }, now()),
    releaseLease: async (name) => releaseRunLease(runtime, held, checkName(name, '/name'), now()),
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
      return raise(runtime, runId, event, () => undefined, now());
    },
    async waitForExternalEvent(name, { timeoutAt } = {}) {
      const dueAt = timeoutAt === undefined ? null : checkMoment(timeoutAt, now());
      const outcome = await waitOrSuspend(runtime, held, {
        kind: 'external_event',
        name,
        dueAt,
        payload: null,
      });
      const { event } = outcome;
      if (event === null) return null;
      const [json = null] = await loadValues(runtime, [event.payload]);
      return { id: event.id, raisedAt: new Date(event.raisedAt), payload: json };
    },
    async waitForTimer(name, fireAt, timerPayload = null) {
      const dueAt = checkMoment(fireAt, now());
      const request = { kind: 'timer' as const, name, dueAt, payload: bounded(timerPayload).json };
      const { timer } = await waitOrSuspend(runtime, held, request);
      return timer ?? { id: '', name, fireAt: dueAt, createdAt: dueAt, payload: null };
    },
  };
}

async function waitOrSuspend(
  runtime: Runtime,
  held: Held,
  request: {
    readonly kind: WaitKind;
    readonly name: string;
    readonly dueAt: number | null;
    readonly payload: Json;
  },
): Promise<WaitOutcome> {
  const name = checkName(request.name, '/name');
  const { outcome } = await wait(runtime, held, { ...request, name }, runtime.world.clock.now());
  if (outcome === null) throw new RunSuspended();
  return outcome;
}

/** Payloads of events and timers have the limit that workers have. */
function boundedPayload({ options }: Runtime, value: Json) {
  const json = plain(value);
  return { json, bytes: checkJson(json, payloadLimit(options.payloadBytesMax), '/payload') };
}

/** As it will be read again: what JSON cannot hold is refused here, and what a handler changes later does not count. */
function plain(value: Json): Json {
  return JSON.parse(canonicalJson(value)) as Json;
}
