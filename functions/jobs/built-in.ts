import { refusalWords, ServiceError } from '../kernel/errors.ts';
import { legible } from '../kernel/legible.ts';
import { describeHandler, type HandlerRegistry } from '../runs/handler-registry.ts';
import { isLeaseRefusal } from '../runs/outcome.ts';
import { type PluginHandler, type RunContext, RunFailure } from '../runs/plugin.ts';
import type { JobHandler, JobPlugin } from './job-plugin.ts';

/** Registers the handlers of the service. `version` is the release of the service, since they are part of it. */
export function registerJobs(
  registry: HandlerRegistry,
  plugins: readonly JobPlugin[],
  version: string,
): void {
  for (const { pluginId, name, handlers } of plugins) {
    registry.addBuiltIn({ pluginId, name, version }, handlers.map(describeHandler));
  }
}

/** The handlers as the engine executes them. */
export function executableJobs(plugins: readonly JobPlugin[]): readonly PluginHandler[] {
  return plugins.flatMap(({ handlers }) =>
    handlers.map((handler) => ({ ...handler, run: (context: RunContext) => execute(handler, context) })),
  );
}

async function execute(handler: JobHandler, context: RunContext) {
  const { job, handlerId, scope } = context;
  // A run that a caller started under this id before the service had such a handler.
  if (job === undefined) throw new RunFailure('handler_missing', 'No handler is registered under this id');
  try {
    await handler.judge({ handlerId, scope, caller: job.caller, space: job.space, subject: job.subject });
    return await handler.run({ ...context, job });
  } catch (error) {
    throw legible(() => jobFailure(error), error);
  }
}

/** A refusal that an operation would answer ends a job under its code; a validation refusal is never retried. */
function jobFailure(error: unknown): unknown {
  if (!(error instanceof ServiceError) || isLeaseRefusal(error)) return error;
  const failureClass = VALIDATION.has(error.code) ? 'validation' : error.code;
  return new RunFailure(failureClass, messageOf(error), { cause: error });
}

/** With the member: a run holds one text, where a problem document has a list of members. */
function messageOf(error: ServiceError): string {
  const [first] = error.extensions.errors ?? [];
  return first === undefined || first.pointer === ''
    ? error.message
    : `The request is not valid: ${refusalWords(error)}`;
}

const VALIDATION: ReadonlySet<string> = new Set(['validation_failed', 'limit_exceeded', 'malformed_request']);
