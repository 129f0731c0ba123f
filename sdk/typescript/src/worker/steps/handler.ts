import type { JsonValue } from '../../generated/models.ts';
import type { WorkerHandler } from '../options.ts';
import { contextPort } from './context-port.ts';
import { segmentKey } from './journal.ts';
import type { Invocable } from './lossless.ts';
import { type ProcessContext, runInProcess } from './plugin-port.ts';
import { type RunDefinition, runSteps } from './run-steps.ts';
import type { EventSchemas, InputOf, OutputOf, StandardSchema } from './schema.ts';
import type { Steps } from './tools.ts';

type Schema = StandardSchema<unknown, unknown>;

/** A handler with steps. */
export interface HandlerDefinition<
  In extends Schema | undefined,
  Out extends Schema | undefined,
  Input,
  Result,
  Events = undefined,
> {
  /** The id of the handler at the service. */
  readonly id: string;
  /** The version of the code, which a run shows; `1` if absent. */
  readonly version?: string;
  /** Checks the payload. Another payload ends the run as failed with `validation`. */
  readonly input?: In;
  /** Checks the result. */
  readonly output?: Out;
  /** Checks the payloads of events that the handler waits for. Another payload ends the run. */
  readonly events?: Events;
  /** A default for the registration of the handler. */
  readonly retry?: { readonly maxAttempts?: number };
  readonly run: (steps: Steps<Events>, input: In extends Schema ? OutputOf<In> : Input) => Result;
}

/** A worker takes it as a handler, and so does a plugin of a server; `start` and `invoke` take it for its types. */
export interface StepHandler<Input, Output, Events = undefined>
  extends WorkerHandler,
    Invocable<Input, Output, Events> {
  readonly version: string;
  readonly checkpointKeys: readonly string[];
  readonly retry: { readonly maxAttempts?: number };
  /** For plugins: the id. */
  readonly handlerId: string;
  /** For plugins: that of `retry`. */
  readonly maxAttempts?: number;
  /** For plugins: executes a run in the process of the server. */
  readonly run: (context: ProcessContext) => Promise<JsonValue>;
}

/** A journal of up to 60 kB comes with the lease. More keys would cost a read each, also where there is no such segment. */
const KEYS = [segmentKey(0)];

const definitions = new WeakMap<object, RunDefinition>();

/** The definition of a handler with steps. */
export function definitionOf(handler: object): RunDefinition {
  const definition = definitions.get(handler);
  if (definition === undefined) throw new TypeError('The handler is none of defineHandler.');
  return definition;
}

/**
 * Defines a handler whose steps keep their results. It runs from its beginning after each wait, failure and crash; a step
 * that has a result gives it, and does not work again.
 */
export function defineHandler<
  In extends Schema | undefined = undefined,
  Out extends Schema | undefined = undefined,
  Input = unknown,
  Result = unknown,
  Events extends EventSchemas | undefined = undefined,
>(
  definition: HandlerDefinition<In, Out, Input, Result, Events>,
): StepHandler<
  In extends Schema ? InputOf<In> : Input,
  Out extends Schema ? OutputOf<Out> : Awaited<Result>,
  Events
> {
  const { id, version = '1', retry = {} } = definition;
  if (typeof id !== 'string' || id.trim() !== id || id === '')
    throw new TypeError('The id of a handler is blank, or has white space around it.');
  const defined = definition as unknown as RunDefinition;
  const handler: WorkerHandler = (context) => runSteps(defined, contextPort(context));
  const run = (context: ProcessContext) => runInProcess(defined, context);
  const { maxAttempts } = retry;
  const ofPlugin = { handlerId: id, run, ...(maxAttempts === undefined ? {} : { maxAttempts }) };
  definitions.set(handler, defined);
  return Object.assign(handler, { id, version, retry, checkpointKeys: KEYS, ...ofPlugin });
}
