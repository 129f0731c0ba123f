import type { MintClaims } from './oidc-keys.ts';
import {
  attemptDeadlineMsDefault,
  jobHeaders,
  retryDelayMs,
  type ScheduledJob,
  type SchedulerJob,
  scheduled,
} from './scheduler-job.ts';
import { type DispatchWorld, messageOf } from './tasks/dispatcher.ts';

/** Cloud Scheduler on one machine: sends a request at each scheduled time of a job, one run of a job at a time. */
export interface SchedulerOptions {
  readonly world: DispatchWorld;
  readonly mint: (claims: MintClaims) => Promise<string>;
  /** Receives a line for each failed run. */
  readonly log?: (line: string) => void;
}

/** The result of a job's run. */
export interface JobRun {
  readonly dueAt: number;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attempts: number;
  readonly succeeded: boolean;
  /** From the last attempt: the target's answer, or the reason for its absence. */
  readonly message: string;
}

export interface ShownJob {
  readonly job: SchedulerJob;
  readonly nextAt: number | null;
  readonly running: boolean;
  /** Scheduled times that passed during the previous run. */
  readonly skipped: number;
  readonly last: JobRun | null;
}

interface Entry extends ScheduledJob {
  nextAt: number | null;
  skipped: number;
  last: JobRun | null;
  underWay: Promise<JobRun> | null;
  /** The requested run that has not begun. */
  asked: Promise<JobRun> | null;
  disarm: (() => void) | null;
}

/** The longest delay that a timer is set to; platforms take no more than 2^31 ms. */
const timerMsMax = 86_400_000;
const stopped = 'The scheduler was stopped.';

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #entries = new Map<string, Entry>();
  /** Aborted: no run begins any more. */
  readonly #halt = new AbortController();
  /** Aborted: active runs are cancelled. */
  readonly #giveUp = new AbortController();

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  /** Adds a job. Throws an Error for an invalid one. */
  add(job: SchedulerJob): void {
    const timed = scheduled(job);
    if (this.#entries.has(job.name)) throw new Error(`There are two jobs ${job.name}.`);
    const entry = {
      ...timed,
      nextAt: null,
      skipped: 0,
      last: null,
      underWay: null,
      asked: null,
      disarm: null,
    };
    this.#entries.set(job.name, entry);
    this.#awaitNext(entry);
  }

  jobs(): ShownJob[] {
    return [...this.#entries.values()].map(({ job, nextAt, underWay, skipped, last }) => ({
      job,
      nextAt,
      running: underWay !== null,
      skipped,
      last,
    }));
  }

  /**
   * Runs a job now, or as soon as the active run has ended: a caller gets a run that began after its request.
   * `undefined` for an unknown job.
   */
  run(name: string): Promise<JobRun> | undefined {
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    if (entry.underWay === null) return this.#begin(entry, this.#now());
    entry.asked ??= this.#runAfter(entry);
    return entry.asked;
  }

  /** Begins no further runs. Resolves when the active ones have ended; they are cancelled after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.#halt.abort();
    const disarm = this.#options.world.timers.after(graceMs, () => this.#giveUp.abort());
    const entries = [...this.#entries.values()];
    for (const entry of entries) entry.disarm?.();
    await Promise.all(entries.map(async ({ underWay, asked }) => [await underWay, await asked]));
    disarm();
  }

  get #stopping(): boolean {
    return this.#halt.signal.aborted;
  }

  #now(): number {
    return this.#options.world.clock.now();
  }

  #awaitNext(entry: Entry): void {
    entry.nextAt = entry.nextAfter(this.#now());
    this.#arm(entry);
  }

  #arm(entry: Entry): void {
    if (entry.nextAt === null || this.#stopping) return;
    const at = entry.nextAt;
    entry.disarm = this.#options.world.timers.after(Math.min(at - this.#now(), timerMsMax), () => {
      if (this.#now() < at) return this.#arm(entry);
      if (entry.underWay === null) void this.#begin(entry, at);
      else entry.skipped += 1;
      this.#awaitNext(entry);
    });
  }

  async #runAfter(entry: Entry): Promise<JobRun> {
    while (entry.underWay !== null) await entry.underWay;
    entry.asked = null;
    return this.#begin(entry, this.#now());
  }

  #begin(entry: Entry, dueAt: number): Promise<JobRun> {
    const run = this.#attempts(entry.job, dueAt).then((ended) => {
      entry.underWay = null;
      entry.last = ended;
      if (!ended.succeeded)
        this.#options.log?.(`The scheduler's job ${entry.job.name} failed: ${ended.message}`);
      return ended;
    });
    entry.underWay = run;
    return run;
  }

  async #attempts(job: SchedulerJob, dueAt: number): Promise<JobRun> {
    const startedAt = this.#now();
    for (let attempts = 1; ; attempts += 1) {
      const { succeeded, message } = await this.#attempt(job, dueAt);
      const now = this.#now();
      const delayMs = succeeded ? null : retryDelayMs(job, { attempts, firstAt: startedAt, now });
      if (delayMs === null || this.#stopping)
        return { dueAt, startedAt, endedAt: now, attempts, succeeded, message };
      await this.#pause(delayMs);
    }
  }

  async #attempt(job: SchedulerJob, dueAt: number): Promise<Pick<JobRun, 'succeeded' | 'message'>> {
    if (this.#stopping) return { succeeded: false, message: stopped };
    const { world, mint } = this.#options;
    const late = new AbortController();
    const disarm = world.timers.after(job.attemptDeadlineMs ?? attemptDeadlineMsDefault, () => late.abort());
    try {
      const { serviceAccountEmail: email, audience } = job.oidc;
      const token = await mint({ email, audience, issuedAtSeconds: Math.floor(this.#now() / 1000) });
      const { status } = await world.http({
        url: job.target,
        method: 'POST',
        headers: jobHeaders(job, dueAt, token),
        body: null,
        signal: AbortSignal.any([late.signal, this.#giveUp.signal]),
      });
      return { succeeded: status >= 200 && status < 300, message: `HTTP status code ${status}` };
    } catch (error) {
      if (late.signal.aborted)
        return { succeeded: false, message: 'No response within the attempt deadline' };
      return { succeeded: false, message: this.#giveUp.signal.aborted ? stopped : messageOf(error) };
    } finally {
      disarm();
    }
  }

  /** Ends at once when the scheduler stops. */
  #pause(delayMs: number): Promise<void> {
    const { signal } = this.#halt;
    return new Promise((resolve) => {
      const end = (): void => {
        disarm();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const disarm = this.#options.world.timers.after(delayMs, end);
      signal.addEventListener('abort', end);
    });
  }
}
