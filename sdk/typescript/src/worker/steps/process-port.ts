import type { ExecutionRun, JsonObject, JsonValue } from '../../generated/models.ts';
import type { RunContext } from '../context.ts';
import { RunFailure, type StopKind, WorkStopped } from '../errors.ts';
import { legible } from '../legible.ts';
import type { ChildOutcome, ChildRequest, StepPort, TakenEvent } from './ports.ts';
import { type RunDefinition, runSteps } from './run-steps.ts';

/** What a server gives to a handler in its process. The plugin brings the kit, so these members are all that both know. */
export interface ProcessContext {
  readonly run: ExecutionRun;
  readonly signal: AbortSignal;
  readonly steps: ProcessCalls;
}

export interface ProcessCalls {
  readonly isLastAttempt: boolean;
  readonly eventsMax: number;
  now(): number;
  after(delayMs: number, callback: () => void): () => void;
  randomBytes(size: number): Uint8Array;
  read(key: string): Promise<JsonValue | null>;
  write(
    checkpoint: {
      readonly key: string;
      readonly content: unknown;
      readonly metadata: Readonly<Record<string, string>>;
    },
    event?: ProcessEvent,
  ): Promise<void>;
  timer(name: string, fireAt: number): Promise<void>;
  event(names: readonly string[], until: number | null): Promise<TakenEvent | null>;
  startChild(child: ChildRequest): Promise<string>;
  childOutcome(runId: string): Promise<ChildOutcome | null>;
  waitForChild(runId: string, until: number | null): Promise<ChildOutcome | null>;
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
  const over = new AbortController();
  const stop = (kind: StopKind, cause?: unknown): WorkStopped => {
    const stopped = new WorkStopped(kind, cause === undefined ? {} : { cause });
    over.abort(stopped);
    return stopped;
  };
  const ofServer = () => void stop(steps.stopKind());
  if (signal.aborted) ofServer();
  else signal.addEventListener('abort', ofServer, { once: true });
  try {
    return await runSteps(definition, processPort(context, over.signal, stop));
  } catch (error) {
    throw endingOf(steps, error);
  } finally {
    signal.removeEventListener('abort', ofServer);
  }
}

/** The error as the server knows it. Its own, which says that the run is parked, goes back as it came. */
function endingOf(steps: ProcessCalls, error: unknown): unknown {
  if (error instanceof WorkStopped) return error.cause ?? error;
  if (!(error instanceof RunFailure)) return error;
  const { failureClass, message, status, cause } = error;
  const { retryable } = error as { readonly retryable?: boolean };
  return steps.failure({
    failureClass,
    message,
    status,
    cause,
    ...(retryable === undefined ? {} : { retryable }),
  });
}

function processPort(
  context: ProcessContext,
  signal: AbortSignal,
  stop: (kind: StopKind, cause?: unknown) => WorkStopped,
): StepPort {
  const { run, steps } = context;
  const made = async <T>(call: () => Promise<T>): Promise<T> => {
    // A handler may still keep the results of steps while its run is to be cancelled.
    if (signal.aborted && !isCancelled(signal)) throw signal.reason;
    try {
      return await call();
    } catch (error) {
      if (isSuspension(error)) throw stop('suspended', error);
      if (signal.aborted && !isCancelled(signal)) throw signal.reason;
      throw error;
    }
  };
  return {
    run: { ...run, isLastAttempt: steps.isLastAttempt },
    signal,
    clock: {
      now: () => steps.now(),
      after: (delayMs, callback) => steps.after(delayMs, callback),
      random: () => new DataView(Uint8Array.from(steps.randomBytes(4)).buffer).getUint32(0) / 2 ** 32,
      uuid: () => uuidOf(steps.randomBytes(16)),
    },
    read: (key) => made(() => steps.read(key)),
    write: (write, news) => made(() => steps.write(write, eventOf(news))),
    timer: (name, fireAt) => made(() => steps.timer(name, fireAt)),
    event: (names, until) => made(() => steps.event(names, until)),
    eventsMax: steps.eventsMax,
    children: {
      start: (child) => made(() => steps.startChild(child)),
      outcome: (runId) => made(() => steps.childOutcome(runId)),
      async wait(runId) {
        await made(() => steps.waitForChild(runId, null));
      },
    },
    commit: (tenantId, request) => made(() => steps.commit(tenantId, request)),
    record: (event) => made(() => steps.record(event)),
    log: (level, message, error) => steps.log(level, message, error),
    context: context as unknown as RunContext,
  };
}

function isCancelled({ reason }: AbortSignal): boolean {
  return reason instanceof WorkStopped && reason.kind === 'cancelled';
}

/** The server has its own class of this error, which the bundle of a plugin does not hold. */
function isSuspension(error: unknown): boolean {
  return legible(() => error instanceof Error && error.name === 'RunSuspended', false);
}

/** Names in the history of the run; details are bounded by the service. */
const NAMES_MAX = 16;

function eventOf(news: readonly string[]): ProcessEvent | undefined {
  if (news.length === 0) return undefined;
  const steps = news.slice(0, NAMES_MAX);
  return { type: 'steps.settled', message: steps.join(', '), details: { steps, count: news.length } };
}

/** Version 4 of RFC 9562. */
function uuidOf(random: Uint8Array): string {
  const bytes = Uint8Array.from(random);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
