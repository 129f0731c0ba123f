import type { Clock, Timers } from '../../functions/kernel/world.ts';
import { retryAfterMs } from './backoff.ts';
import type { Faults } from './faults.ts';
import { firstOf, type HeldTask, type Lane } from './lane.ts';
import type { AttemptOutcome, TargetRequest, TaskProgress, TaskRecord } from './model.ts';
import { requestHeaders } from './request-headers.ts';
import type { TargetAnswer, TargetHttp } from './target-http.ts';
import {
  afterAttempt,
  answeredWith,
  begun,
  type EndedAttempt,
  isOverload,
  isSuccess,
  isTooOld,
  notAnswered,
} from './task-life.ts';
import { dispatchDeadlineMsDefault } from './task-request.ts';
import type { TasksStore } from './tasks-store.ts';

export interface DispatchWorld {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly http: TargetHttp;
}

export interface DispatcherOptions {
  readonly world: DispatchWorld;
  readonly store: TasksStore;
  readonly faults: Faults;
  readonly mintToken: (token: NonNullable<TargetRequest['oidcToken']>) => Promise<string>;
  /** Ends a task; its name stays reserved for a time. */
  readonly end: (lane: Lane, task: HeldTask) => void;
}

interface Sent {
  readonly outcome: AttemptOutcome;
  readonly retryAfterMs: number;
}

/** The longest delay that a timer is set to; platforms take no more than 2^31 ms. */
const timerMsMax = 86_400_000;
const reorderedWithin = 16;

/** Sends due tasks within the rate of their queue, and retries them after failures. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #underWay = new Set<Promise<void>>();
  readonly #aborts = new Set<AbortController>();
  #stopping = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Starts the timer of a task, which is in the lane. */
  schedule(lane: Lane, task: HeldTask): void {
    lane.withdraw(task);
    const { name, progress } = task.record;
    const subject = `${name}\n${progress.attempts}`;
    const late = this.#options.faults.strike('delay', subject);
    const lateMs = late === null ? 0 : Math.ceil(this.#options.faults.amount('delay', subject) * late.ms);
    this.#awaitTime(lane, task, progress.scheduledAt + lateMs);
  }

  /** Sends every task that may be sent now. */
  pump(lane: Lane): void {
    const { clock, timers } = this.#options.world;
    while (this.#maySend(lane)) {
      const waitMs = lane.rate.take(lane.record.rateLimits, clock.now());
      if (waitMs > 0) {
        lane.disarm ??= timers.after(waitMs, () => {
          lane.disarm = null;
          this.pump(lane);
        });
        return;
      }
      const task = this.#next(lane);
      lane.ready.delete(task);
      this.attempt(lane, task);
    }
  }

  /** Sends a task now and ignores the queue's state and rate. `calledAt` is the time of the request for it. */
  attempt(lane: Lane, task: HeldTask, calledAt?: number): void {
    if (this.#stopping) return;
    const { name, progress } = task.record;
    if (isTooOld(task.record, this.#now())) return this.#options.end(lane, task);
    if (this.#options.faults.strike('lose', `${name}\n${progress.attempts}`) !== null)
      return this.#options.end(lane, task);
    const attempt = this.#run(lane, task, calledAt).finally(() => this.#underWay.delete(attempt));
    this.#underWay.add(attempt);
  }

  /** Stops sending. Resolves when active attempts are answered, or cancelled after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    const giveUp = (): void => {
      for (const abort of this.#aborts) abort.abort();
    };
    const disarm = graceMs > 0 ? this.#options.world.timers.after(graceMs, giveUp) : giveUp;
    if (graceMs <= 0) giveUp();
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
    disarm();
  }

  #now(): number {
    return this.#options.world.clock.now();
  }

  #maySend(lane: Lane): boolean {
    return (
      !this.#stopping &&
      lane.record.state === 'RUNNING' &&
      lane.ready.size > 0 &&
      lane.running < lane.record.rateLimits.maxConcurrentDispatches
    );
  }

  #awaitTime(lane: Lane, task: HeldTask, at: number): void {
    const delayMs = Math.ceil(at - this.#now());
    if (delayMs <= 0) {
      lane.ready.add(task);
      this.pump(lane);
      return;
    }
    task.disarm = this.#options.world.timers.after(Math.min(delayMs, timerMsMax), () => {
      task.disarm = null;
      this.#awaitTime(lane, task, at);
    });
  }

  /** The first ready task, or another one if the reorder switch strikes. The lane must have a ready task. */
  #next({ ready }: Lane): HeldTask {
    const first = firstOf(ready, reorderedWithin);
    const [turn] = first;
    if (turn === undefined) throw new Error('no task is ready');
    const subject = `${turn.record.name}\n${turn.record.progress.attempts}`;
    const { faults } = this.#options;
    if (first.length === 1 || faults.strike('reorder', subject) === null) return turn;
    return first[1 + Math.floor(faults.amount('reorder', subject) * (first.length - 1))] ?? turn;
  }

  async #run(lane: Lane, task: HeldTask, calledAt: number | undefined): Promise<void> {
    const before = task.record.progress;
    const dispatchedAt = this.#now();
    this.#save(task, begun(before, dispatchedAt));
    lane.running += 1;
    const sent = await this.#send(task.record, before);
    lane.running -= 1;
    // The emulator stops: its next start retries a cancelled attempt.
    if (sent === null) return;
    this.#slowOrRecover(lane, sent.outcome);
    if (!task.gone) {
      const { scheduledAt } = before;
      this.#settle(lane, task, sent, { dispatchedAt, scheduledAt, retryFrom: calledAt ?? this.#now() });
    }
    this.pump(lane);
  }

  #slowOrRecover({ rate, record }: Lane, outcome: AttemptOutcome): void {
    if (isOverload(outcome)) rate.slowDown(record.rateLimits, this.#now());
    else if (isSuccess(outcome)) rate.recover(record.rateLimits, this.#now());
  }

  #settle(
    lane: Lane,
    task: HeldTask,
    { outcome, retryAfterMs: waitMs }: Sent,
    times: Pick<EndedAttempt, 'dispatchedAt' | 'scheduledAt' | 'retryFrom'>,
  ): void {
    const ended = { ...times, outcome, endedAt: this.#now(), retryAfterMs: waitMs };
    const next = afterAttempt(task.record.progress, lane.record.retry, ended);
    if (next === null) return this.#options.end(lane, task);
    this.#save(task, next);
    this.schedule(lane, task);
  }

  #save(task: HeldTask, progress: TaskProgress): void {
    task.record = { ...task.record, progress };
    this.#options.store.putProgress(task.record.name, progress);
  }

  /** `null` if the emulator cancelled the attempt because it stops. */
  async #send(task: TaskRecord, before: TaskProgress): Promise<Sent | null> {
    const { faults, mintToken } = this.#options;
    const subject = `${task.name}\n${before.attempts}`;
    const failed = faults.strike('fail', subject);
    if (failed !== null) return { outcome: answeredWith(failed.status), retryAfterMs: 0 };
    let token: string | null;
    try {
      token = task.request.oidcToken === null ? null : await mintToken(task.request.oidcToken);
    } catch (error) {
      return { outcome: notAnswered('unauthenticated', messageOf(error)), retryAfterMs: 0 };
    }
    const headers = requestHeaders(task, before, token);
    const sending = this.#call(task.request, headers);
    if (faults.strike('duplicate', subject) !== null) await this.#call(task.request, headers);
    return sending;
  }

  async #call(request: TargetRequest, headers: Readonly<Record<string, string>>): Promise<Sent | null> {
    const { timers, http } = this.#options.world;
    const abort = new AbortController();
    this.#aborts.add(abort);
    let late = false;
    const disarm = timers.after(request.dispatchDeadlineMs ?? dispatchDeadlineMsDefault, () => {
      late = true;
      abort.abort();
    });
    const { url, method, body } = request;
    try {
      return this.#answered(await http({ url, method, headers, body, signal: abort.signal }));
    } catch (error) {
      if (late) return unanswered('deadlineExceeded', 'No response within the dispatch deadline');
      return abort.signal.aborted ? null : unanswered('unavailable', messageOf(error));
    } finally {
      disarm();
      this.#aborts.delete(abort);
    }
  }

  #answered({ status, retryAfter }: TargetAnswer): Sent {
    return { outcome: answeredWith(status), retryAfterMs: retryAfterMs(retryAfter, this.#now()) };
  }
}

function unanswered(code: 'deadlineExceeded' | 'unavailable', message: string): Sent {
  return { outcome: notAnswered(code, message), retryAfterMs: 0 };
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
