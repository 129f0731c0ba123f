import type { JsonValue } from '../../generated/models.ts';
import { WorkStopped } from '../errors.ts';
import { inStep } from './branches.ts';
import { type Duration, durationMs } from './durations.ts';
import { type Entry, entryError, isSettled } from './entries.ts';
import type { Execution, Operation } from './execution.ts';
import { StepFailed, StepTimeout, Stop } from './faults.ts';
import { DURABLE_MS, delayAfter, type RetryRule, retryRule, type StepRetry } from './retries.ts';
import { jsonCopy, StepValueError, valueBytes } from './values.ts';
import { noEntry } from './waits.ts';

/** The argument of the work of a step. */
export interface StepWork {
  /** The same in each try and each execution: give it to services that take one. */
  readonly idempotencyKey: string;
  /** 1 in the first try. */
  readonly attempt: number;
  /** Aborted when the time of the step is over, and when the handler must stop. */
  readonly signal: AbortSignal;
}

export interface StepOptions<T> {
  readonly retry?: StepRetry;
  /** The time of one try; unlimited if absent. */
  readonly timeout?: Duration;
  /** Runs in reverse order when the run fails for good. */
  readonly undo?: (value: T, its: StepWork) => unknown;
  /** Earlier names of the step. */
  readonly was?: readonly string[];
  /** Writes and reads values that JSON cannot hold. */
  readonly codec?: StepCodec<T>;
}

export interface StepCodec<T> {
  readonly encode: (value: T) => unknown;
  readonly decode: (json: JsonValue) => T;
}

/** The rules of one step, checked when it is called. */
interface StepRules {
  readonly kind: 'step' | 'undo';
  readonly retry: RetryRule;
  readonly timeoutMs: number | null;
  readonly encode: (value: unknown) => JsonValue;
}

type Work = (its: StepWork) => unknown;

/** The result of a step: from the journal, or of its work. */
export async function stepResult<T>(
  execution: Execution,
  { key, found: own, branch }: Operation,
  work: Work,
  options: StepOptions<T>,
): Promise<T> {
  const found = own ?? earlierNameOf(execution, options.was);
  const { codec, undo, timeout } = options;
  const rules: StepRules = {
    kind: 'step',
    retry: retryRule(options.retry),
    timeoutMs: timeout === undefined ? null : durationMs(timeout, 'timeout'),
    encode: (value) => jsonCopy(codec === undefined ? value : codec.encode(value as T)),
  };
  if (found?.e !== undefined) throw new StepFailed(key, found.e);
  const json = isSettled(found)
    ? await execution.valueOf(found)
    : await tries(execution, { key, found, branch }, work, rules);
  const value = (codec === undefined ? json : codec.decode(json)) as T;
  if (undo !== undefined) {
    const undoKey = `@undo:${key}`;
    const undoRules = { ...rules, kind: 'undo', encode: () => null } as const;
    execution.undos.set(found?.k ?? key, async (root) => {
      const before = execution.journal.find(undoKey, 'undo');
      if (isSettled(before)) return;
      const its = { key: undoKey, found: before, branch: root };
      await tries(execution, its, (each) => undo(value, each), undoRules);
    });
  }
  return value;
}

function earlierNameOf(execution: Execution, was: readonly string[] = []): Entry | undefined {
  for (const key of was) {
    const found = execution.journal.find(key, 'step');
    if (found === undefined) continue;
    execution.use(key);
    return found;
  }
  return undefined;
}

/** Works until a try succeeds. The last failure is kept, and thrown as `StepFailed`. */
async function tries(execution: Execution, its: Operation, work: Work, rules: StepRules): Promise<JsonValue> {
  const { found } = its;
  let tried = found?.n ?? 0;
  if (found?.at !== undefined) await timer(execution, its, tried, found.at);
  for (;;) {
    tried += 1;
    const result = await execution.scheduler.work(() => tryOnce(execution, its, work, { rules, tried }));
    if ('json' in result) return result.json;
    tried = result.tried;
    if (rules.kind === 'step' && execution.ending !== null) throw execution.ending;
    await timer(execution, its, tried, result.next);
  }
}

type Tried = { readonly json: JsonValue } | { readonly next: number; readonly tried: number };

/** One try, with the pauses and further tries that pass under the lease. */
async function tryOnce(
  execution: Execution,
  { key, branch }: Operation,
  work: Work,
  { rules, tried }: { readonly rules: StepRules; readonly tried: number },
): Promise<Tried> {
  const { writer, port } = execution;
  const entry = { k: key, t: rules.kind };
  for (let n = tried; ; n += 1) {
    const begun = execution.now();
    const times = () => ({ ms: execution.now() - begun, at: execution.now() });
    let json: JsonValue;
    try {
      json = await answerOf(execution, { key, branch, attempt: n }, work, rules);
    } catch (error) {
      if (error instanceof WorkStopped || branch.signal.aborted) throw error;
      const isFinal = error instanceof Stop || error instanceof StepValueError;
      const delayMs = isFinal ? null : delayAfter(rules.retry, n);
      if (delayMs === null) {
        const e = entryError(error);
        port.log('warning', `the step "${key}" failed`, error);
        await writer.put({ ...entry, e, n, ...times() });
        throw new StepFailed(key, e);
      }
      if (delayMs >= DURABLE_MS) {
        const at = execution.now() + delayMs;
        await writer.put({ ...entry, n, at });
        return { next: at, tried: n };
      }
      await execution.pause(delayMs);
      branch.signal.throwIfAborted();
      continue;
    }
    await writer.putValue({ ...entry, ...(n > 1 ? { n } : {}), ...times() }, json);
    // The handler may change its value; the journal must not change with it.
    return { json: jsonCopy(json) };
  }
}

/** A longer timer of JavaScript fires at once. */
const TIMER_MS_MAX = 2_147_483_647;

async function answerOf(
  execution: Execution,
  {
    key,
    branch,
    attempt,
  }: { readonly key: string; readonly branch: Operation['branch']; readonly attempt: number },
  work: Work,
  { timeoutMs, encode }: StepRules,
): Promise<JsonValue> {
  const { clock } = execution.port;
  const over = new AbortController();
  const signal = AbortSignal.any([branch.signal, over.signal]);
  const its = { idempotencyKey: execution.serverKey(key), attempt, signal };
  let cancel: (() => void) | null = null;
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
    if (timeoutMs === null) return;
    cancel = clock.after(Math.min(timeoutMs, TIMER_MS_MAX), () =>
      over.abort(new StepTimeout(key, timeoutMs / 1_000)),
    );
  });
  late.catch(() => undefined);
  try {
    const answer = inStep(branch, key, async () => work(its));
    const json = encode(await Promise.race([answer, late]));
    // Another try would give such a value again, so a value that is too large fails the step for good.
    valueBytes(json);
    return json;
  } finally {
    (cancel as (() => void) | null)?.();
  }
}

/** Parks the run until the next try. A run that is being cancelled cannot be parked, and has little time. */
async function timer(
  execution: Execution,
  { key, branch }: Operation,
  tried: number,
  at: number,
): Promise<void> {
  if (execution.isCancelled) return execution.pause(Math.min(Math.max(0, at - execution.now()), DURABLE_MS));
  const name = `@retry:${key}:${tried}`;
  await execution.scheduler.wait({ kind: 'timer', name, dueAt: at, open: null, settled: noEntry }, branch);
}
