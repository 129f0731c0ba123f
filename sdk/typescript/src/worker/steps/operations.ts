import { SvcError } from '../../errors.ts';
import type { JsonValue } from '../../generated/models.ts';
import { type ChildOptions, invokeChild, startChild } from './children.ts';
import type { Execution } from './execution.ts';
import type { Invocable } from './lossless.ts';
import { nameOf, type StepName } from './names.ts';
import { all, map, race } from './parallel.ts';
import type { EventSchemas } from './schema.ts';
import { type StepOptions, type StepWork, stepResult } from './steps.ts';
import type { RenamedStep, Steps } from './tools.ts';
import { type EventOptions, sleep, waitForEvent } from './wait-operations.ts';

const CONCURRENCY = 16;

type Handler = Invocable<unknown, unknown>;

/** The tools of one execution. */
export function toolsOf(execution: Execution, events: EventSchemas = {}): Steps {
  const { port, journal } = execution;
  const tools = {
    step: (
      name: StepName | RenamedStep,
      work: (its: StepWork) => unknown,
      options: StepOptions<unknown> = {},
    ) => rejecting(() => step(execution, name, work, options)),
    commit: (name: StepName, tenantId: string, request: object) =>
      rejecting(() => commit(execution, nameOf(name), tenantId, request)),
    sleep: (name: StepName, time: Parameters<Steps['sleep']>[1]) =>
      rejecting(() => sleep(execution, nameOf(name), time)),
    waitForEvent: (given: StepName, options: EventOptions = {}) =>
      rejecting(() => {
        const name = nameOf(given);
        const { event = name } = options;
        const own = Object.hasOwn(events, event) ? { schema: events[event] } : {};
        return waitForEvent(execution, name, { ...own, ...options } as EventOptions);
      }),
    invoke: (name: StepName, { id }: Handler, input: unknown, options: ChildOptions = {}) =>
      rejecting(() => invokeChild(execution, nameOf(name), id, input, options)),
    start: (name: StepName, { id }: Handler, input: unknown, options: ChildOptions = {}) =>
      rejecting(() => startChild(execution, nameOf(name), id, input, options)),
    all: (works: readonly (() => unknown)[]) => rejecting(() => all(execution, works)),
    race: (works: readonly (() => unknown)[], name?: StepName) =>
      rejecting(() => race(execution, markOf('@race', name), works)),
    map: (
      items: readonly unknown[],
      { concurrency = CONCURRENCY },
      work: (item: unknown, at: number) => unknown,
    ) => rejecting(() => map(execution, items, concurrency, work)),
    now: (name?: StepName) => rejecting(() => execution.mark(markOf('@now', name), () => execution.now())),
    uuid: (name?: StepName) =>
      rejecting(() => execution.mark(markOf('@uuid', name), () => port.clock.uuid())),
    random: (name?: StepName) =>
      rejecting(() => execution.mark(markOf('@random', name), () => port.clock.random())),
    since: (change: string) => rejecting(() => since(execution, nameOf(change))),
    version: journal.head.version,
    run: port.run,
    signal: port.signal,
    log: port.log,
    context: port.context,
  };
  return tools as unknown as Steps;
}

function markOf(kind: string, name: StepName | undefined): string {
  return name === undefined ? kind : `${kind}:${nameOf(name)}`;
}

/**
 * A refusal of an argument is a rejection, as every other error. Node ends the process on an unhandled rejection; a handler may
 * forget an `await`. Awaiting callers still get the error.
 */
function rejecting<T>(call: () => Promise<T>): Promise<T> {
  const answer = (async () => call())();
  answer.catch(() => undefined);
  return answer;
}

function step(
  execution: Execution,
  given: StepName | RenamedStep,
  work: (its: StepWork) => unknown,
  options: StepOptions<unknown>,
): Promise<unknown> {
  const { name, was } = isRenamed(given) ? given : { name: given, was: [] };
  const key = nameOf(name);
  return execution.operate('step', key, (its) => stepResult(execution, its, work, { ...options, was }));
}

function isRenamed(given: StepName | RenamedStep): given is RenamedStep {
  return typeof given === 'object' && 'name' in given;
}

async function commit(
  execution: Execution,
  name: string,
  tenantId: string,
  request: object,
): Promise<unknown> {
  const { key } = execution.enter('commit', name);
  if (execution.ending !== null) throw execution.ending;
  const { commit: send } = execution.port;
  if (send === undefined) throw new SvcError('A commit needs the client of a worker.');
  const keyed = { ...request, idempotencyKey: execution.serverKey(key) };
  return execution.scheduler.work(() => send(tenantId, keyed));
}

/** A run that has results which the handler has not yet asked for was beyond this place before the change. */
async function since(execution: Execution, change: string): Promise<JsonValue> {
  const isAt = execution.unused().length === 0;
  return execution.mark(`@since:${change}`, () => isAt);
}
