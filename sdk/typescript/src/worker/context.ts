import type { SvcClient } from '../client.ts';
import { ConflictError, NotFoundError, SvcError } from '../errors.ts';
import type {
  ExecutionArtifact,
  ExecutionArtifactWrite,
  ExecutionCheckpoint,
  ExecutionCheckpointEventWrite,
  ExecutionExternalEvent,
  ExecutionRun,
  ExecutionRunUpdate,
  ExecutionTimer,
  ExecutionWaitResult,
  JsonInput,
  JsonObject,
  JsonValue,
} from '../generated/models.ts';
import type { CallOptions } from '../options.ts';
import type { World } from '../world.ts';
import type { Attempt } from './attempt.ts';

/** The run of a handler, and the calls that it may make. Every call is refused with `WorkStopped` after the attempt is over. */
export interface RunContext {
  /** The run at the time of the lease. */
  readonly run: ExecutionRun;
  readonly payload: JsonValue;
  /** Aborted when the handler must stop. The reason is a `WorkStopped` with a `kind`. */
  readonly signal: AbortSignal;
  /** Reports progress. Absent members keep their value. */
  readonly report: (progress: ExecutionRunUpdate) => Promise<void>;
  /** Adds an entry to the history of the run. It is dropped, with a warning in the log, where its tenant may store nothing more. */
  readonly recordEvent: (event: RunEvent) => Promise<void>;
  readonly putArtifact: (artifact: ExecutionArtifactWrite) => Promise<ExecutionArtifact>;
  /**
   * Stores state for the next execution. It survives retries, waits and restarts; the last write of a key wins. `event`: an
   * entry of the history in the same write, which a server of release 0.6.0 refuses.
   */
  readonly checkpoint: (
    key: string,
    content: JsonInput,
    metadata?: Readonly<Record<string, string>>,
    event?: ExecutionCheckpointEventWrite | null,
  ) => Promise<ExecutionCheckpoint>;
  /** `null` without a checkpoint of that key. */
  readonly readCheckpoint: (key: string) => Promise<ExecutionCheckpoint | null>;
  /**
   * The event, or `null` after the timeout. If neither has come, the call throws `WorkStopped` and the run is parked; the
   * handler runs again from its beginning later, and the same call then returns, once. Store its value in a checkpoint if
   * another wait may follow.
   */
  readonly waitForExternalEvent: (
    name: string,
    options?: EventWait,
  ) => Promise<ExecutionExternalEvent | null>;
  /** As `waitForExternalEvent`, until a moment. The first call of a name sets the moment. */
  readonly waitForTimer: (name: string, moment: TimerWait) => Promise<ExecutionTimer>;
}

/** An entry of a run's history. */
export interface RunEvent {
  /** `log` if absent. */
  readonly type?: string;
  readonly message?: string;
  /** `info` if absent. */
  readonly severity?: string;
  readonly details?: JsonObject;
}

export interface EventWait {
  /** How long to wait for the event, from now; unlimited if absent. */
  readonly timeoutSeconds?: number;
}

/** A moment: in seconds from now, or a date. */
export type TimerWait = { readonly payload?: JsonInput } & (
  | { readonly seconds: number }
  | { readonly fireAt: Date }
);

/** The objects behind the context of a run. */
export interface ContextParts {
  readonly client: SvcClient;
  readonly world: World;
  readonly attempt: Attempt;
  /** Makes a wait of the run, and gives its outcome. Parks the run where there is none yet. */
  readonly wait: (request: WaitRequest) => Promise<ExecutionWaitResult>;
}

const partsOf = new WeakMap<RunContext, ContextParts>();

/** `undefined` for a context that another made, such as a test. */
export function contextParts(context: RunContext): ContextParts | undefined {
  return partsOf.get(context);
}

export function contextOf(attempt: Attempt, client: SvcClient, world: World): RunContext {
  const { lease, signal } = attempt;
  const wait = waitOf(attempt, client);
  const calls = { ...writesOf(attempt, client), ...waitsOf(wait, world) };
  // Node ends the process on an unhandled rejection; a handler may forget an `await`. Awaiting callers still get the error.
  for (const [name, call] of Object.entries(calls) as [string, (...given: never[]) => Promise<unknown>][]) {
    const watched = (...given: never[]) => {
      const answer = call(...given);
      answer.catch(() => undefined);
      return answer;
    };
    Object.assign(calls, { [name]: watched });
  }
  const context = { run: lease.run, payload: lease.run.payload, signal, ...calls };
  partsOf.set(context, { client, world, attempt, wait });
  return context;
}

type Facts = 'run' | 'payload' | 'signal';
type Waits = 'waitForExternalEvent' | 'waitForTimer';

function writesOf(attempt: Attempt, client: SvcClient): Omit<RunContext, Facts | Waits> {
  const { proof } = attempt;
  return {
    async report(update) {
      const run = await attempt.call((options) =>
        client.reportExternalExecutionLease({ ...proof, update }, options),
      );
      if (run.cancellationRequested) attempt.cancel();
    },
    async recordEvent(event) {
      const request = { ...event, ...proof, writeId: attempt.nextWriteId() };
      try {
        await attempt.call((options) => client.recordExternalExecutionLeaseEvent(request, options));
      } catch (error) {
        // A full history must not fail the run.
        if (!(error instanceof ConflictError && error.code === 'quota_exceeded')) throw error;
        attempt.log('warning', 'an event was dropped', error);
      }
    },
    async putArtifact(artifact) {
      const request = { ...proof, artifact, writeId: attempt.nextWriteId() };
      const send = (options: CallOptions) => client.putExternalExecutionLeaseArtifact(request, options);
      return attempt.call(send, { large: true });
    },
    async checkpoint(key, content, metadata = {}, event = null) {
      const write = { checkpoint: { key, content, metadata }, ...(event === null ? {} : { event }) };
      const request = { ...proof, ...write, writeId: attempt.nextWriteId() };
      return attempt.call((options) => client.putExternalExecutionLeaseCheckpoint(request, options));
    },
    async readCheckpoint(key) {
      try {
        return await attempt.call((options) =>
          client.getExternalExecutionLeaseCheckpoint({ ...proof, key }, options),
        );
      } catch (error) {
        if (error instanceof NotFoundError && error.code === 'not_found') return null;
        throw error;
      }
    },
  };
}

function waitOf(attempt: Attempt, client: SvcClient): ContextParts['wait'] {
  return async (request) => {
    const wanted = { ...request, ...attempt.proof, waitId: attempt.nextWriteId() };
    const { suspended, outcome, run } = await attempt.call((options) =>
      client.waitExternalExecutionLease(wanted, options),
    );
    if (suspended || outcome === null) throw attempt.end('suspended');
    if (run.cancellationRequested) attempt.cancel();
    return outcome;
  };
}

function waitsOf(wait: ContextParts['wait'], world: World): Pick<RunContext, Waits> {
  const inSeconds = (seconds: number, what: string) => {
    if (!(seconds >= 0 && seconds <= SECONDS_MAX))
      throw new SvcError(`${what} must be a number of seconds from 0 to ${SECONDS_MAX}.`);
    return new Date(world.now() + seconds * 1_000).toISOString();
  };
  return {
    async waitForExternalEvent(name, { timeoutSeconds } = {}) {
      const timeoutAtUtc = timeoutSeconds === undefined ? null : inSeconds(timeoutSeconds, 'timeoutSeconds');
      return (await wait({ kind: 'external_event', name, timeoutAtUtc })).event;
    },
    async waitForTimer(name, { payload = null, ...moment }) {
      const fireAtUtc =
        'fireAt' in moment ? moment.fireAt.toISOString() : inSeconds(moment.seconds, 'seconds');
      const { timer } = await wait({ kind: 'timer', name, fireAtUtc, payload });
      if (timer === null) throw new SvcError('The answer to a timer wait has no timer.');
      return timer;
    },
  };
}

type WaitRequest = Omit<
  Parameters<SvcClient['waitExternalExecutionLease']>[0],
  'leaseKey' | 'leaseToken' | 'workerId'
>;

/** 3,660 days. */
const SECONDS_MAX = 316_224_000;
