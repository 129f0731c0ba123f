import { refusalWords, ServiceError } from '../kernel/errors.ts';
import { legible } from '../kernel/legible.ts';
import type { Clock } from '../kernel/world.ts';
import { describeHandler, type HandlerRegistry } from '../runs/handler-registry.ts';
import { isLeaseRefusal } from '../runs/outcome.ts';
import { type PluginHandler, type RunContext, RunFailure } from '../runs/plugin.ts';
import { StoreError } from '../store/port.ts';
import type { JobHandler, JobPlugin } from './job-plugin.ts';

const ROOM_TIMER = 'svc.room';
const ROOM_MS = 60_000;

/** Registers the handlers of the service. `version` is the release of the service, because the handlers are part of it. */
export function registerJobs(
  registry: HandlerRegistry,
  plugins: readonly JobPlugin[],
  version: string,
): void {
  for (const { pluginId, name, handlers } of plugins) {
    registry.addBuiltIn({ pluginId, name, version }, handlers.map(describeHandler));
  }
}

/** The handlers in the form that the engine executes. */
export function executableJobs(plugins: readonly JobPlugin[], clock: Clock): readonly PluginHandler[] {
  return plugins.flatMap(({ handlers }) =>
    handlers.map((handler) => ({
      ...handler,
      run: (context: RunContext) => execute(clock, handler, context),
    })),
  );
}

async function execute(clock: Clock, handler: JobHandler, context: RunContext) {
  const { job, handlerId, scope } = context;
  // A caller started this run under the handler's id, before the service had such a handler.
  if (job === undefined) throw new RunFailure('handler_missing', 'No handler is registered under this id');
  try {
    await handler.judge({ handlerId, scope, caller: job.caller, space: job.space, subject: job.subject });
    return await inRoom(clock, context, () => handler.run({ ...context, job }));
  } catch (error) {
    throw legible(() => jobFailure(error), error);
  }
}

/** While the disk is full the job waits, then continues: other jobs, such as deletions, may free space. */
async function inRoom<R>(clock: Clock, context: RunContext, work: () => Promise<R>): Promise<R> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isFull = legible(() => error instanceof StoreError && error.failure === 'full', false);
      if (!isFull) throw error;
      // If an earlier wait of this run has ended, the call returns at once, and the next call waits.
      await context.waitForTimer(ROOM_TIMER, new Date(clock.now() + ROOM_MS));
    }
  }
}

/** Ends the job under the code of a `ServiceError`. A validation error is never retried. */
function jobFailure(error: unknown): unknown {
  if (!(error instanceof ServiceError) || isLeaseRefusal(error)) return error;
  const failureClass = VALIDATION.has(error.code) ? 'validation' : error.code;
  return new RunFailure(failureClass, messageOf(error), { cause: error });
}

/** Adds the member to the message, because a run has one text where a problem document has a list of members. */
function messageOf(error: ServiceError): string {
  const [first] = error.extensions.errors ?? [];
  return first === undefined || first.pointer === ''
    ? error.message
    : `The request is not valid: ${refusalWords(error)}`;
}

const VALIDATION: ReadonlySet<string> = new Set(['validation_failed', 'limit_exceeded', 'malformed_request']);
