import type { ExecutionRun, JsonValue } from '../../generated/models.ts';
import { machine } from '../../world.ts';
import type { RunContext } from '../context.ts';
import { definitionOf, type StepHandler } from './handler.ts';
import { Journal } from './journal.ts';
import type { StepPort } from './ports.ts';
import {
  type ChangedOperation,
  ReplayExecution,
  type ReplayedOperation,
  unending,
} from './replay-execution.ts';
import { handled } from './run-steps.ts';
import type { StepCodec } from './steps.ts';
import type { Steps } from './tools.ts';

export type { ChangedOperation, ReplayedOperation } from './replay-execution.ts';

/** The journal of a run, as `svc runs journal` prints it. */
export interface ExportedJournal {
  readonly runId: string;
  readonly handlerId: string;
  readonly handlerVersion: string | null;
  readonly payload: JsonValue;
  /** Each the array of its entries, or the text of it. */
  readonly segments: readonly JsonValue[];
  /** Values that stand in checkpoints of their own, by the names of these. */
  readonly values?: Readonly<Record<string, JsonValue>>;
}

export interface ReplayOptions {
  /**
   * Values for operations that have no result, by their keys, as JSON: the replay goes on with them. For an event it is the
   * payload, or `null` for its timeout. A commit gives `{}` if absent.
   */
  readonly results?: Readonly<Record<string, JsonValue>>;
}

/** How the code of a handler continues a run. */
export interface Replay {
  /** The run is at these: it works on them, or waits for them. */
  readonly next: readonly ReplayedOperation[];
  /** Operations without a result before that place: they are inserted or renamed, and would run. */
  readonly again: readonly ReplayedOperation[];
  /** Results that the handler no longer asks for. */
  readonly unused: readonly ReplayedOperation[];
  /** Results behind an operation of `again` or `changed`, at which the replay has stopped. */
  readonly unreached: readonly ReplayedOperation[];
  /** Operations whose kind has changed. A worker ends the attempt with `changed_code`. */
  readonly changed: readonly ChangedOperation[];
  /** Results whose values are not in the document. The handler gets `null`, or the value of `results`. */
  readonly valueless: readonly ReplayedOperation[];
  /** How the handler ended; `null` if it has not. */
  readonly end: { readonly result: JsonValue } | { readonly error: unknown } | null;
}

/**
 * Follows a handler by the journal of a run, to test changed code against runs under way. No step works, and no call is made.
 * Code outside of steps runs, perhaps more than once.
 */
export async function replay(
  handler: Pick<StepHandler<never, unknown>, 'id' | 'version'>,
  journal: ExportedJournal,
  { results = {} }: ReplayOptions = {},
): Promise<Replay> {
  const given = (key: string) => (Object.hasOwn(results, key) ? results[key] : undefined);
  const { execution, end } = await followed(handler, journal, given);
  const { next, again, changed, valueless } = execution;
  const left = execution.unused();
  const waits = again.filter(({ kind, isStopped }) => isStopped && isWait(kind));
  // A run that waits for one thing has no entry of it. A wait is inserted if results are asked for behind it.
  const behind =
    waits.length === 0 ? null : await followed(handler, journal, (key) => given(key) ?? null, ROUNDS_MAX);
  const isHere = behind !== null && behind.execution.unused().length === left.length;
  const before = isHere ? again.filter((each) => !waits.includes(each)) : again;
  const isStopped = end === null && (changed.length > 0 || before.some((each) => each.isStopped));
  const kinds = new Map(execution.journal.all().map(({ k, t }) => [k, t]));
  const unasked = left.map((key) => ({ key, kind: kinds.get(key) ?? 'step' }));
  return {
    next: [...next, ...(isHere ? waits.map(operationOf) : [])],
    again: before.map(operationOf),
    unused: isStopped ? [] : unasked,
    unreached: isStopped ? unasked : [],
    changed,
    valueless,
    end,
  };
}

function isWait(kind: string): boolean {
  return kind === 'event' || kind === 'sleep';
}

function operationOf({ key, kind }: ReplayedOperation): ReplayedOperation {
  return { key, kind };
}

/** A handler without end gets no more values. */
const ROUNDS_MAX = 1_000;

async function followed(
  handler: Pick<StepHandler<never, unknown>, 'id' | 'version'>,
  journal: ExportedJournal,
  given: (key: string) => JsonValue | undefined,
  roundsMax = Number.POSITIVE_INFINITY,
) {
  const { id, version } = handler;
  const segments = journal.segments.map((each) =>
    typeof each === 'string' ? (JSON.parse(each) as JsonValue) : each,
  );
  const read = Journal.of(segments, { handler: id, version });
  const timer = (name: string) => execution.missing(name, 'sleep', true);
  const execution = new ReplayExecution(portOf(journal, read, { given, timer }), read, given);
  const ending: { end: Replay['end'] } = { end: null };
  const handling = handled(definitionOf(handler), execution, (tools) => idle(execution, tools));
  void Promise.race([handling, execution.halted]).then(
    (result) => void (ending.end = { result }),
    (error: unknown) => void (ending.end = { error }),
  );
  await quiet();
  for (let round = 0; round < roundsMax && ending.end === null; round += 1) {
    if (!execution.goOn()) break;
    await quiet();
  }
  // Open operations stay open: a rejection would begin the error handling of the handler.
  return { execution, end: ending.end };
}

/** Tools of which a step does not work. */
function idle(execution: ReplayExecution, tools: Steps): Steps {
  const prefix = `${execution.port.run.id}/`.length;
  const step = (name: never, _: unknown, options: { readonly codec?: StepCodec<unknown> } = {}) => {
    const { codec } = options;
    const work = async ({ idempotencyKey }: { readonly idempotencyKey: string }) => {
      const value = await execution.missing(idempotencyKey.slice(prefix), 'step');
      return codec === undefined ? value : codec.decode(value);
    };
    return tools.step(
      name,
      work as (its: unknown) => Promise<null>,
      codec === undefined ? {} : ({ codec } as object),
    );
  };
  return { ...tools, step: step as unknown as Steps['step'] };
}

interface Answers {
  readonly given: (key: string) => JsonValue | undefined;
  readonly timer: (name: string) => Promise<unknown>;
}

/** A service that does nothing. */
function portOf(
  { runId, payload, values = {} }: ExportedJournal,
  journal: Journal,
  answers: Answers,
): StepPort {
  const run = { id: runId, attempt: 2, maxAttempts: 2, payload, scope: null } as unknown as ExecutionRun;
  const last = Math.max(0, ...journal.all().map(({ at = 0 }) => at));
  return {
    run: { ...run, isLastAttempt: false },
    signal: new AbortController().signal,
    clock: {
      now: () => last,
      random: () => 0.5,
      uuid: () => '00000000-0000-4000-8000-000000000000',
      after: () => () => undefined,
    },
    read: async (key) => (Object.hasOwn(values, key) ? (values[key] ?? null) : null),
    write: async () => undefined,
    timer: async (name) => void (await answers.timer(name)),
    event: unending,
    eventsMax: 1,
    commit: async (_, request) => {
      const { idempotencyKey: key } = request as { readonly idempotencyKey: string };
      return answers.given(key.slice(`${runId}/`.length)) ?? {};
    },
    record: async () => undefined,
    log: () => undefined,
    context: new Proxy({}, { get: refused }) as RunContext,
  };
}

function refused(): never {
  throw new TypeError('A replay has no service: the context has no calls.');
}

const TURNS = 3;

/** Lets all promises of a handler go on that can. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1)
    await new Promise<void>((resolve) => void machine.after(0, resolve));
}
