import { SvcError } from '../../errors.ts';
import type {
  ExecutionExternalEvent,
  ExecutionRun,
  ExecutionRunRequest,
  JsonInput,
} from '../../generated/models.ts';
import type { CallOptions } from '../../options.ts';
import type { RunWaitOptions } from '../../wait-run.ts';
import type { Invocable } from './lossless.ts';
import type { InputOf } from './schema.ts';
import { jsonCopy } from './values.ts';

/** The part of a client that starts a run and waits for its result. */
export interface RunClient {
  startExecutionRun(request: ExecutionRunRequest, options?: CallOptions): PromiseLike<ExecutionRun>;
  waitForExecutionRun(runId: string, options?: RunWaitOptions): PromiseLike<ExecutionRun>;
  raiseExecutionEvent(
    runId: string,
    request: { readonly name: string; readonly payload?: JsonInput },
    options?: CallOptions,
  ): PromiseLike<ExecutionExternalEvent>;
}

/** A run of a handler whose types are known. */
export interface StartedRun<Output, Events = undefined> {
  readonly id: string;
  /** The run as it was started. */
  readonly run: ExecutionRun;
  /** Waits for the end. Throws `RunFailed` unless the run succeeds. */
  readonly result: (options?: RunWaitOptions) => Promise<Output>;
  /** Raises an event for the run. */
  readonly raise: RaiseCall<Events>;
}

/** A handler that names its events takes no others. */
export type RaiseCall<Events> = [keyof Events] extends [never]
  ? (name: string, payload?: JsonInput) => Promise<void>
  : <Name extends keyof Events & string>(name: Name, payload: InputOf<Events[Name]>) => Promise<void>;

/** A run that did not succeed. */
export class RunFailed extends SvcError {
  readonly run: ExecutionRun;

  constructor(run: ExecutionRun) {
    super(
      `The run ${run.id} of ${run.handlerId} ended as ${run.status}${run.error === null ? '.' : `: ${run.error}`}`,
    );
    this.name = 'RunFailed';
    this.run = run;
  }
}

export type StartOptions = Omit<ExecutionRunRequest, 'handlerId' | 'payload'>;

/** Starts a run of a handler. */
export async function start<Input, Output, Events>(
  client: RunClient,
  handler: Invocable<Input, Output, Events>,
  input: NoInfer<Input>,
  options: StartOptions = {},
): Promise<StartedRun<Output, Events>> {
  const run = await client.startExecutionRun({ ...options, handlerId: handler.id, payload: jsonCopy(input) });
  return startedRun(client, run);
}

function startedRun<Output, Events>(client: RunClient, run: ExecutionRun): StartedRun<Output, Events> {
  return {
    id: run.id,
    run,
    async result(options) {
      const ended = await client.waitForExecutionRun(run.id, options);
      if (ended.status !== 'succeeded') throw new RunFailed(ended);
      return ended.result as Output;
    },
    raise: (async (name: string, payload?: JsonInput) => {
      await client.raiseExecutionEvent(run.id, { name, payload: payload ?? null });
    }) as RaiseCall<Events>,
  };
}
