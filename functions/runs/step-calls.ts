import { limits } from '../../contracts/generated/limits.ts';
import type { Json } from '../kernel/canonical-json.ts';
import { ServiceError } from '../kernel/errors.ts';
import { describeFailure } from '../kernel/log.ts';
import { unlessQuotaExceeded } from '../kernel/quota.ts';
import { stopKindOf } from './cancellation.ts';
import { checkpoint, readCheckpoint } from './checkpoint.ts';
import { checkCheckpoint, checkCheckpointEvent, checkMoment, checkTrace } from './checks.ts';
import { childRequest, childStartOf } from './child-request.ts';
import { RunFailure, RunGivenBack, RunSuspended } from './plugin.ts';
import { repeatWhileLeased } from './repeat.ts';
import type { ChildOutcome } from './rules/child.ts';
import { isLastAttempt } from './rules/complete.ts';
import type { Runtime } from './runtime.ts';
import { startChild } from './start-child.ts';
import type { StepCalls, StepChildOutcome } from './step-port.ts';
import { type Attempt, waitOrSuspend, watchedCalls } from './suspending-wait.ts';
import { checkName } from './text-checks.ts';
import { childNow, resultOfChild, waitForChildRun } from './wait-child.ts';
import { waitResult } from './wait-result.ts';
import { recordEvent } from './work.ts';

/** The calls of the step kit for one attempt, over the functions that also serve the calls of workers. */
export function stepCallsOf(runtime: Runtime, attempt: Attempt): StepCalls {
  const { run, signal, refused } = attempt;
  const { clock, random, timers } = runtime.world;
  return {
    isLastAttempt: isLastAttempt(run),
    isDevelopment: runtime.options.showsHandlerErrors,
    eventsMax: limits.executionWaitNamesMax,
    now: () => clock.now(),
    after: (delayMs, callback) => timers.after(delayMs, callback),
    drawBytes: (size) => random.bytes(size),
    log(level, message, error) {
      const failure = error === undefined ? {} : { failure: describeFailure(error) };
      runtime.log({ severity: level === 'info' ? 'INFO' : 'WARNING', message, runId: run.id, ...failure });
    },
    stopKind: () => stopKindOf(signal),
    failure: ({ failureClass, message, ...options }) => new RunFailure(failureClass, message, options),
    givenBack: () => new RunGivenBack(),
    ...watchedCalls({ ...writesOf(runtime, attempt), ...waitsOf(runtime, attempt) }, refused),
    ...watchedCalls(childrenOf(runtime, attempt), refused),
  };
}

type Writes = Pick<StepCalls, 'read' | 'write' | 'record' | 'commit'>;

function writesOf(runtime: Runtime, { run, held, bounds }: Attempt): Writes {
  const now = () => runtime.world.clock.now();
  const repeated = <T>(call: () => Promise<T>) => repeatWhileLeased(runtime.world, bounds, call);
  return {
    async read(key) {
      const name = checkName(key, '/key');
      const found = await repeated(() => readCheckpoint(runtime, held, name, now()));
      return found === null ? null : found.content;
    },
    async write({ content, ...rest }, event) {
      const checked = checkCheckpoint({ ...rest, content: content as Json });
      const added = event === null ? {} : { added: checkCheckpointEvent(event, '/event') };
      const write = { id: runtime.ids.next(), requestHash: '' };
      await repeated(() => checkpoint(runtime, held, { ...checked, ...added }, now(), write));
    },
    async record(event) {
      await recordEvent(runtime, held, checkTrace(event), now()).catch(unlessQuotaExceeded);
    },
    async commit(tenantId, request) {
      const { commit } = runtime;
      if (commit === undefined)
        throw new ServiceError('permission_denied', 'This process makes no commits for handlers');
      return repeated(() => commit(run, tenantId, request));
    },
  };
}

function waitsOf(runtime: Runtime, attempt: Attempt): Pick<StepCalls, 'timer' | 'event'> {
  const { run } = attempt;
  const now = () => runtime.world.clock.now();
  return {
    async timer(name, fireAt) {
      const wanted = { kind: 'timer', name: checkName(name, '/name'), dueAt: checkMoment(fireAt, now()) };
      await waitOrSuspend(runtime, attempt, wanted as { kind: 'timer'; name: string; dueAt: number });
    },
    async event(given, until) {
      // Two branches may wait for one name.
      const names = [...new Set(given)].map((name) => checkName(name, '/names')).toSorted();
      const several = names.length > 1 ? { names } : {};
      const dueAt = until === null ? null : checkMoment(until, now());
      const wanted = { kind: 'external_event', name: names[0] ?? '', ...several, dueAt } as const;
      const { event } = await waitResult(runtime, run.id, await waitOrSuspend(runtime, attempt, wanted));
      return event === null ? null : { name: event.name, payload: event.payload };
    },
  };
}

type Children = Pick<StepCalls, 'startChild' | 'childOutcome' | 'waitForChild'>;

function childrenOf(runtime: Runtime, { run, held, bounds }: Attempt): Children {
  const now = () => runtime.world.clock.now();
  const repeated = <T>(call: () => Promise<T>) => repeatWhileLeased(runtime.world, bounds, call);
  return {
    async startChild({ idempotencyKey, ...child }) {
      const start = childStartOf(checkName(idempotencyKey, '/idempotencyKey'), child);
      const requestOf = childRequest(runtime, child, { now: now(), access: runtime.access ?? null });
      return (await repeated(() => startChild(runtime, held, start, requestOf, now()))).runId;
    },
    async childOutcome(runId) {
      const child = await repeated(() => childNow(runtime, run.id, runId));
      return child === 'active' ? null : outcomeOf(runtime, child);
    },
    async waitForChild(runId, name, until) {
      const dueAt = until === null ? null : checkMoment(until, now());
      const write = { id: runtime.ids.next(), requestHash: '' };
      const { answer } = await repeated(() =>
        waitForChildRun(runtime, held, { name: checkName(name, '/name'), runId, dueAt, write }, now()),
      );
      if (answer === 'waits') throw new RunSuspended();
      return 'child' in answer ? outcomeOf(runtime, answer.child) : null;
    },
  };
}

async function outcomeOf(runtime: Runtime, child: ChildOutcome | null): Promise<StepChildOutcome> {
  if (child === null) return { status: 'unknown', failureClass: null, error: null };
  const { status, failureClass, error } = child;
  if (status !== 'succeeded') return { status, failureClass, error };
  const result = await resultOfChild(runtime, child);
  if (result === undefined)
    return { status: 'removed', failureClass: null, error: 'Its result was removed with it' };
  return { status, result };
}
