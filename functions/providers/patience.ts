import type { Json } from '../kernel/canonical-json.ts';
import type { Log } from '../kernel/log.ts';
import type { Clock, RandomSource } from '../kernel/world.ts';
import { ProviderFailure } from './failure.ts';
import { type FailureRow, isWaitedFor, nextTry } from './rules/patience.ts';
import { answeredLine, failingLine } from './rules/patience-lines.ts';

/** The checkpoint in which a job keeps the failures of its provider. */
const CHECKPOINT = 'provider-failures';
const TIMER = 'provider-turn';
/** The wait for a limit of the service without a known end. */
const TURN_MS = 60_000;

export interface PatienceParts {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Log;
  /** From the first failure of a row to the last try. */
  readonly patienceMs: number;
}

/** The job that waits. */
export interface PatientJob {
  readonly runId: string;
  readonly handlerId: string;
  readonly attempt: number;
  readonly readCheckpoint: (key: string) => Promise<{ readonly content: Json } | null>;
  readonly writeCheckpoint: (key: string, content: Json) => Promise<unknown>;
  /** Ends the execution, unless it answers the end of an earlier wait. */
  readonly waitForTimer: (name: string, fireAt: Date) => Promise<unknown>;
}

type Kept = {
  readonly row: FailureRow | null;
  /** Waits for failures of the provider so far. */
  readonly waits: number;
};

const NOTHING: Kept = { row: null, waits: 0 };

/** The waits of one execution of a job for its providers. A row of failures continues in later executions. */
export class ProviderPatience {
  readonly #parts: PatienceParts;
  readonly #job: PatientJob;
  #kept: Kept | null = null;

  constructor(parts: PatienceParts, job: PatientJob) {
    this.#parts = parts;
    this.#job = job;
  }

  /** Waits of the whole job for providers that failed; limits of the service are not among them. */
  async waits(): Promise<number> {
    return (await this.#read()).waits;
  }

  /** The job has stored an answer of the provider, so the next failure begins a new row. */
  async answered(): Promise<void> {
    const { row, waits } = await this.#read();
    if (row === null) return;
    await this.#write({ row: null, waits });
    const { log, clock } = this.#parts;
    log(answeredLine(this.#job, row, clock.now()));
  }

  /**
   * Waits for another try, without a worker; `before` is awaited before a wait. Answers `false` where the failure is the last one, and `true` where the
   * next try may be made now. Throws the suspension of the job.
   */
  async waitAfter(failure: ProviderFailure, before = () => Promise.resolve()): Promise<boolean> {
    const { clock, random, patienceMs, log } = this.#parts;
    const now = clock.now();
    if (isLimitOfMinute(failure)) {
      await this.#suspend(now + (failure.retryAfterMs ?? TURN_MS), before);
      return true;
    }
    if (!isWaitedFor(failure)) return false;
    const { row, waits } = await this.#read();
    const chance = (random.bytes(1)[0] ?? 0) / 255;
    const next = nextTry(row, { now, patienceMs, chance, retryAfterMs: failure.retryAfterMs });
    if (next === null) return false;
    await this.#write({ row: next.row, waits: waits + 1 });
    const times = { since: next.row.since, nextTryAt: next.at, patienceMs };
    if (row === null) log(failingLine(this.#job, failure, times));
    await this.#suspend(next.at, before);
    return true;
  }

  /** The first call may be the result of the wait before this execution. */
  async #suspend(until: number, before: () => Promise<void>): Promise<void> {
    await before();
    for (let calls = 0; calls < 2; calls += 1) await this.#job.waitForTimer(TIMER, new Date(until));
  }

  async #read(): Promise<Kept> {
    const isFirst = this.#job.attempt === 1;
    this.#kept ??= isFirst ? NOTHING : keptIn((await this.#job.readCheckpoint(CHECKPOINT))?.content);
    return this.#kept;
  }

  async #write(kept: Kept): Promise<void> {
    await this.#job.writeCheckpoint(CHECKPOINT, kept);
    this.#kept = kept;
  }
}

function keptIn(content: Json | undefined): Kept {
  return content === undefined ? NOTHING : (content as Kept);
}

/** A refusal of the service that ends with the minute, or with the run that has the place. */
function isLimitOfMinute({ isOfGuard, failureClass }: ProviderFailure): boolean {
  return isOfGuard && failureClass === 'rate_limit';
}

/** Does the work of a job again and again while its provider fails and the job waits for it. */
export async function withPatience<Result>(
  patience: ProviderPatience,
  signal: AbortSignal,
  work: () => Promise<Result>,
  before?: () => Promise<void>,
): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted || !(error instanceof ProviderFailure)) throw error;
      if (!(await patience.waitAfter(error, before))) throw error;
    }
  }
}
