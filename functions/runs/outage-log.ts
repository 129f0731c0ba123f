import { describeFailure, type Log } from '../kernel/log.ts';
import type { Clock } from '../kernel/world.ts';

/** An outage writes at most one line in this time. */
const LINE_MS = 60_000;

/** Logs failures of work that is repeated: the first at once, further ones once a minute with their number, and the recovery. */
export class OutageLog {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #recovered: string;
  #lineAt = Number.NEGATIVE_INFINITY;
  /** Failures that no line has counted. */
  #silent = 0;
  #isOpen = false;

  /** `recovered` is logged when the work succeeds after a logged failure. */
  constructor(clock: Clock, log: Log, recovered: string) {
    this.#clock = clock;
    this.#log = log;
    this.#recovered = recovered;
  }

  failed(message: string, error: unknown): void {
    this.#silent += 1;
    const now = this.#clock.now();
    if (now - this.#lineAt < LINE_MS) return;
    const count = this.#silent === 1 ? '' : ` (${this.#silent} failures since the last line)`;
    this.#log({ severity: 'ERROR', message: `${message}${count}`, failure: describeFailure(error) });
    this.#lineAt = now;
    this.#silent = 0;
    this.#isOpen = true;
  }

  succeeded(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#log({ severity: 'INFO', message: this.#recovered });
  }
}
