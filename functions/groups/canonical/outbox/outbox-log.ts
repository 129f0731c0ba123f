import type { Log } from '../../../kernel/log.ts';

/** Log lines about the delivery of events. Alerts count them: docs/infrastructure.md. */

/** An event that was ready for less time says nothing about its consumer. */
const LONG_WAIT_MS = 60_000;

export function logDeadLetters(log: Log, count: number): void {
  for (let at = 0; at < count; at += 1)
    log({ severity: 'WARNING', message: 'An outbox event became a dead letter' });
}

/** What one lease call met. The store may offer it an event more than once. */
export class MetEvents {
  readonly #parked = new Set<string>();
  #oldestReadyAt = Number.POSITIVE_INFINITY;

  /** The last allowed lease of the event has expired. */
  parked(eventId: string): void {
    this.#parked.add(eventId);
  }

  leased(readyAt: number | null | undefined): void {
    this.#oldestReadyAt = Math.min(this.#oldestReadyAt, readyAt ?? Number.POSITIVE_INFINITY);
  }

  /** Call it once the store has written the leases. */
  report(log: Log, now: number): void {
    logDeadLetters(log, this.#parked.size);
    const ageMs = now - this.#oldestReadyAt;
    if (ageMs >= LONG_WAIT_MS)
      log({ severity: 'WARNING', message: 'An outbox event waited long for its consumer', ageMs });
  }
}
