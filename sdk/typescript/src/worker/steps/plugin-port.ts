import type { ExecutionRun, JsonObject, JsonValue } from '../../generated/models.ts';
import type { RunContext } from '../context.ts';
import { RunFailure, type StopKind, WorkStopped } from '../errors.ts';
import { legible } from '../legible.ts';
import { eventOf } from './events.ts';
import type { ChildOutcome, ChildRequest, StepPort, TakenEvent } from './ports.ts';
import { type RunDefinition, runSteps } from './run-steps.ts';

/** The context of a handler in the process of a server. The plugin brings the kit, so these members are all that both know. */
export interface ProcessContext {
  readonly run: ExecutionRun;
  readonly signal: AbortSignal;
  readonly steps: ProcessCalls;
}

export interface ProcessCalls {
  readonly isLastAttempt: boolean;
  readonly isDevelopment: boolean;
  readonly eventsMax: number;
  now(): number;
  after(delayMs: number, callback: () => void): () => void;
  drawBytes(size: number): Uint8Array;
  read(key: string): Promise<JsonValue | null>;
  write(
    checkpoint: {
      readonly key: string;
      readonly content: unknown;
      readonly metadata: Readonly<Record<string, string>>;
    },
    event: ProcessEvent | null,
  ): Promise<void>;
  timer(name: string, fireAt: number): Promise<void>;
  event(names: readonly string[], until: number | null): Promise<TakenEvent | null>;
  startChild(child: ChildRequest): Promise<string>;
  childOutcome(runId: string): Promise<ChildOutcome | null>;
  waitForChild(runId: string, name: string, until: number | null): Promise<ChildOutcome | null>;
  commit(tenantId: string, request: object): Promise<unknown>;
  record(event: ProcessEvent): Promise<void>;
  log(level: 'info' | 'warning', message: string, error?: unknown): void;
  stopKind(): Exclude<StopKind, 'suspended'>;
  failure(ending: {
    readonly failureClass: string;
    readonly message: string;
    readonly status: RunFailure['status'];
    readonly retryable?: boolean;
    readonly cause?: unknown;
  }): Error;
  /** The error of an attempt that gives its run back. */
  givenBack(): Error;
}

interface ProcessEvent {
  readonly type?: string;
  readonly message?: string;
  readonly severity?: string;
  readonly details?: JsonObject;
}

/** Executes a handler with steps in the process of a server, over the calls that this one gives. */
export async function runInProcess(definition: RunDefinition, context: ProcessContext): Promise<JsonValue> {
  const { steps, signal } = context;
  const attempt = new ProcessAttempt();
  const ofServer = () => void attempt.stop(steps.stopKind());
  if (signal.aborted) ofServer();
  else signal.addEventListener('abort', ofServer);
  try {
    return await runSteps(definition, processPort(context, attempt));
  } catch (error) {
    throw attempt.isGivenBack ? steps.givenBack() : endingOf(steps, error);
  } finally {
    signal.removeEventListener('abort', ofServer);
  }
}

class ProcessAttempt {
  isGivenBack = false;
  readonly #stopping = new AbortController();
  readonly #calls = new AbortController();

  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Aborted when no call can be made any more; unlike `signal` not when the run is to be cancelled. */
  get calls(): AbortSignal {
    return this.#calls.signal;
  }

  stop(kind: StopKind, cause?: unknown): WorkStopped {
    const stopped = new WorkStopped(kind, cause === undefined ? {} : { cause });
    if (kind !== 'cancelled') this.#calls.abort(stopped);
    this.#stopping.abort(stopped);
    return stopped;
  }

  giveBack(): void {
    this.isGivenBack = !this.calls.aborted;
    this.stop('stopping');
  }

  async call<T>(make: () => Promise<T>): Promise<T> {
    this.calls.throwIfAborted();
    try {
      return await make();
    } catch (error) {
      if (isSuspension(error)) throw this.stop('suspended', error);
      this.calls.throwIfAborted();
      throw error;
    }
  }
}

/** The error as the server knows it. Its own, which says that the run is parked, goes back as it came. */
function endingOf(steps: ProcessCalls, error: unknown): unknown {
  if (error instanceof WorkStopped) return error.cause ?? error;
  if (!(error instanceof RunFailure)) return error;
  const { failureClass, message, status, retryable, cause } = error;
  return steps.failure({ failureClass, message, status, retryable, cause });
}

function processPort(context: ProcessContext, attempt: ProcessAttempt): StepPort {
  const { run, steps } = context;
  return {
    run: { ...run, isLastAttempt: steps.isLastAttempt },
    signal: attempt.signal,
    over: attempt.calls,
    isDevelopment: steps.isDevelopment,
    clock: {
      now: () => steps.now(),
      after: (delayMs, callback) => steps.after(delayMs, callback),
      random: () => new DataView(Uint8Array.from(steps.drawBytes(4)).buffer).getUint32(0) / 2 ** 32,
      uuid: () => uuidOf(steps.drawBytes(16)),
    },
    read: (key) => attempt.call(() => steps.read(key)),
    write: (write, news) => attempt.call(() => steps.write(write, eventOf(news))),
    timer: (name, fireAt) => attempt.call(() => steps.timer(name, fireAt)),
    event: (names, until) => attempt.call(() => steps.event(names, until)),
    eventsMax: steps.eventsMax,
    children: {
      start: (child) => attempt.call(() => steps.startChild(child)),
      outcome: (runId) => attempt.call(() => steps.childOutcome(runId)),
      wait: (runId, name, until) => attempt.call(() => steps.waitForChild(runId, name, until)),
    },
    commit: (tenantId, request) => attempt.call(() => steps.commit(tenantId, request)),
    giveBack: () => attempt.giveBack(),
    record: (event) => attempt.call(() => steps.record(event)),
    log: (level, message, error) => steps.log(level, message, error),
    context: context as unknown as RunContext,
  };
}

/** The server has its own class of this error, which the bundle of a plugin does not hold. */
function isSuspension(error: unknown): boolean {
  return legible(() => error instanceof Error && error.name === 'RunSuspended', false);
}

/** Version 4 of RFC 9562. */
function uuidOf(random: Uint8Array): string {
  const bytes = Uint8Array.from(random);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
