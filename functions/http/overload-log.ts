import type { Log } from '../kernel/log.ts';
import { elapsedMs } from '../kernel/timestamp.ts';

/** The time without a refusal after which an overload has ended. */
const QUIET_MS = 10_000;

/** Two lines for an overload: a line for each refusal would cost more than the refusal. */
export class OverloadLog {
  readonly #log: Log;
  #overload: { readonly since: number; lastAt: number; count: number } | null = null;

  constructor(log: Log) {
    this.#log = log;
  }

  refused(now: number): void {
    if (this.#overload === null) {
      this.#overload = { since: now, lastAt: now, count: 1 };
      this.#log({
        severity: 'WARNING',
        message: 'Requests are refused: the service has more than it can answer in time',
        code: 'overloaded',
      });
      return;
    }
    this.#overload.count += 1;
    this.#overload.lastAt = now;
  }

  /** Any request may find that the overload has ended. */
  passed(now: number): void {
    const overload = this.#overload;
    if (overload === null || now - overload.lastAt < QUIET_MS) return;
    this.#overload = null;
    const { since, lastAt, count } = overload;
    this.#log({
      severity: 'WARNING',
      message: 'No request is refused any more',
      code: 'overloaded',
      durationMs: elapsedMs(since, lastAt),
      count,
    });
  }
}
