import { canonicalJson, type Json, type JsonObject } from '../kernel/canonical-json.ts';
import { isWithinDepth } from '../kernel/json-kinds.ts';
import { isDraining } from '../kernel/paid-calls.ts';
import type { World } from '../kernel/world.ts';
import { ProviderFailure } from './failure.ts';
import { type CapabilityAnswer, callModel, tokensOf } from './live/call-model.ts';
import type { LiveProvider, RegisteredProvider } from './registered.ts';
import { deterministicOutput } from './rules/deterministic.ts';
import { outcomeOfFailure, type RunOutcome, succeeded } from './rules/outcome.ts';
import { isOutcomeWaitedFor } from './rules/patience.ts';
import type { RunPlan } from './rules/run-request.ts';
import { reportedTokens, totalUsage, type Usage } from './rules/usage.ts';
import type { RunMemory } from './run-memory.ts';

export interface RunAnswer {
  readonly outcome: RunOutcome;
  /** Also of an answer that was refused; `null` where no model has answered. */
  readonly usage: Usage | null;
}

export interface AnsweringRun {
  readonly plan: RunPlan;
  readonly space: string;
  readonly signal: AbortSignal;
  /** `null`: no worker resumes the run after a crash. */
  readonly memory: RunMemory | null;
}

const RESPONSE = 'response';
const ADMITTED = 'admitted';
const CALLS = 'calls';
/** A call whose answer was lost with a process is repeated once only: the provider may charge for each. */
const CALLS_MAX = 2;
const SERVER_TIMEOUT = 'server_timeout';
/** Lists and objects within each other, as many as a request may have. */
const OUTPUT_DEPTH_MAX = 64;

/** The answer that an earlier execution of the run stored; `null` for none. */
export async function keptAnswer(memory: RunMemory | null): Promise<RunAnswer | null> {
  return ((await memory?.read(RESPONSE)) ?? null) as RunAnswer | null;
}

/** Whether an earlier execution of the run was admitted: the run has counted in its window, and does not count again. */
export async function wasAdmitted(memory: RunMemory | null): Promise<boolean> {
  for (const key of [ADMITTED, CALLS]) if (((await memory?.read(key)) ?? null) !== null) return true;
  return false;
}

/** Keeps that the run is admitted. A call follows, or a refusal of the guard of the provider, which may pass. */
export async function keepAdmitted(memory: RunMemory | null): Promise<void> {
  await memory?.write(ADMITTED, true);
}

/** Calls the provider, and stores its answer before any other step. Throws only errors that interrupt the run. */
export async function answerOf(
  world: Pick<World, 'timers'>,
  { target, live }: RegisteredProvider,
  run: AnsweringRun,
): Promise<RunAnswer> {
  const { plan, memory } = run;
  if (live === null) {
    const output = deterministicOutput(plan.payload);
    const missing = new ProviderFailure(
      'unsupported',
      'unsupported_capability',
      `${target.id} has no such output.`,
    );
    return { outcome: output === null ? outcomeOfFailure(missing) : bounded(output, plan), usage: null };
  }
  const calls = await callsBefore(memory);
  if (calls >= CALLS_MAX) return { outcome: outcomeOfFailure(lostTwice()), usage: null };
  const count = once(async () => memory?.write(CALLS, calls + 1));
  const answer = await asOutcome(run, (took) => callWithin(world, live, { ...run, took, count })).catch(
    async (error: unknown) => {
      // The failure of each request is known: no answer was lost.
      if (isDraining(error)) await memory?.write(CALLS, calls);
      throw error;
    },
  );
  if (isOutcomeWaitedFor(answer.outcome)) {
    // There is no answer, and no lost one: a job may call again.
    await memory?.write(CALLS, calls);
    return answer;
  }
  await memory?.write(RESPONSE, answer as unknown as Json);
  return answer;
}

async function callsBefore(memory: RunMemory | null): Promise<number> {
  const before = (await memory?.read(CALLS)) ?? 0;
  return typeof before === 'number' ? before : CALLS_MAX;
}

/** Does the work until it has succeeded. */
function once(work: () => Promise<void>): () => Promise<void> {
  let isDone = false;
  return async () => {
    if (isDone) return;
    await work();
    isDone = true;
  };
}

function lostTwice(): ProviderFailure {
  return new ProviderFailure(
    'unknown',
    'answer_lost',
    'The answers of two calls were lost with their processes.',
  );
}

async function asOutcome(
  { plan, signal }: AnsweringRun,
  call: (took: (usage: Usage) => void) => Promise<CapabilityAnswer>,
): Promise<RunAnswer> {
  const usages: Usage[] = [];
  try {
    const { output, usage } = await call((each) => usages.push(each));
    return { outcome: bounded(output, plan), usage };
  } catch (error) {
    // A run that is cancelled, or that another worker has, has no outcome here.
    if (signal.aborted || !(error instanceof ProviderFailure)) throw error;
    return { outcome: outcomeOfFailure(error), usage: totalUsage(usages) };
  }
}

interface CountedRun extends AnsweringRun {
  readonly took: (usage: Usage) => void;
  /** Awaited before each admitted request: a request that is not sent loses no answer. */
  readonly count: () => Promise<void>;
}

async function callWithin(
  world: Pick<World, 'timers'>,
  live: LiveProvider,
  { plan, space, signal, memory, took, count }: CountedRun,
): Promise<CapabilityAnswer> {
  const { payload, payloadBytes, timeoutMs, outputBytesMax } = plan;
  const tokens = tokensOf(payload, payloadBytes, live.outputTokensMax);
  const stop = new AbortController();
  const bounds = {
    timeoutMs,
    answerBytesMax: answerBytesOf(outputBytesMax),
    outputBytesMax,
    memory,
    signal: AbortSignal.any([signal, stop.signal]),
  };
  const work = live.guard.within({ space, tokens }, (admit, used) =>
    callModel(live.model, payload, {
      ...bounds,
      async admit(own) {
        await admit(own);
        await count();
      },
      took(usage) {
        took(usage);
        const reported = reportedTokens(usage);
        if (reported !== null) used(reported, usage.excessTokens);
      },
    }),
  );
  const { promise: late, reject } = Promise.withResolvers<never>();
  // The time limit of the run includes the steps before the first request, such as credentials.
  const cancel = world.timers.after(timeoutMs, () => {
    const failure = tooLate();
    // The guard has to learn that the provider did not answer.
    stop.abort(failure);
    reject(failure);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    cancel();
    stop.abort();
    // The work goes on after a lost race: its late failure must not be an unhandled rejection.
    work.catch(() => undefined);
  }
}

function tooLate(): ProviderFailure {
  const message = 'The run did not end within its time.';
  return new ProviderFailure('timeout', SERVER_TIMEOUT, message, { isRetryable: true });
}

/** The largest answer: the output with its escapes, and the members around it. */
function answerBytesOf(outputBytesMax: number): number {
  return 65_536 + outputBytesMax * 2;
}

function bounded(output: JsonObject, { outputBytesMax }: RunPlan): RunOutcome {
  const bytes = storedBytesOf(output);
  if (bytes === null) {
    const message =
      'The provider answered what the service cannot keep: nested too deep, a number or a text out of range.';
    return outcomeOfFailure(new ProviderFailure('schema', 'invalid_structured_output', message));
  }
  if (bytes <= outputBytesMax) return succeeded(output);
  const message = `The output has more than ${outputBytesMax} bytes.`;
  return outcomeOfFailure(new ProviderFailure('schema', 'output_limit', message));
}

/** `null`: the store cannot hold it, or a client could not read it. The answer is paid for, so this is no fault of the service. */
function storedBytesOf(output: JsonObject): number | null {
  if (!isWithinDepth(output, OUTPUT_DEPTH_MAX)) return null;
  try {
    return Buffer.byteLength(canonicalJson(output));
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}
