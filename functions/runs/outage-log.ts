import { describeFailure, type Log } from '../kernel/log.ts';
import type { Clock } from '../kernel/world.ts';

/** At most one line of an outage in this time. */
const LINE_MS = 60_000;

export interface OutageLogParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Logged when the work succeeds after a logged failure. */
  readonly recovered: string;
}

/** Logs failures of work that is repeated: the first at once, further ones once a minute with their number, and the recovery. */
export class OutageLog {
  readonly #parts: OutageLogParts;
  #lineAt = Number.NEGATIVE_INFINITY;
  /** Failures that no line has counted. */
  #silent = 0;
  #isOpen = false;

  constructor(parts: OutageLogParts) {
    this.#parts = parts;
  }

  failed(message: string, error: unknown): void {
    const { clock, log } = this.#parts;
    this.#silent += 1;
    const now = clock.now();
    if (now - this.#lineAt < LINE_MS) return;
    const count = this.#silent === 1 ? '' : ` (${this.#silent} failures since the last line)`;
    log({ severity: 'ERROR', message: `${message}${count}`, failure: describeFailure(error) });
    this.#lineAt = now;
    this.#silent = 0;
    this.#isOpen = true;
  }

  succeeded(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#parts.log({ severity: 'INFO', message: this.#parts.recovered });
  }
}
