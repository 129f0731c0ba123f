import type { Log } from '../../../kernel/log.ts';
import type { EventState } from './outbox-event.ts';

/** Log lines about the delivery of events. Alerts count them: docs/infrastructure.md. */

/** A shorter wait of a ready event is normal, and gives no sign of a slow consumer. */
const LONG_WAIT_MS = 60_000;

type Named = Pick<EventState, 'id' | 'topic'>;

export function logDeadLetter(log: Log, tenantId: string, { id: eventId, topic }: Named): void {
  const message = 'An outbox event became a dead letter';
  log({ severity: 'WARNING', message, tenantId, topic, eventId });
}

/** The events that one lease call has read. The store may offer an event more than once. */
export class MetEvents {
  readonly #tenantId: string;
  readonly #parked = new Map<string, Named>();
  #oldestReadyAt = Number.POSITIVE_INFINITY;

  constructor(tenantId: string) {
    this.#tenantId = tenantId;
  }

  /** The last allowed lease of the event has expired. */
  parked({ id, topic }: Named): void {
    this.#parked.set(id, { id, topic });
  }

  leased(readyAt: number | null | undefined): void {
    this.#oldestReadyAt = Math.min(this.#oldestReadyAt, readyAt ?? Number.POSITIVE_INFINITY);
  }

  /** Call it once the store has written the leases. */
  report(log: Log, now: number): void {
    for (const event of this.#parked.values()) logDeadLetter(log, this.#tenantId, event);
    const ageMs = now - this.#oldestReadyAt;
    if (ageMs >= LONG_WAIT_MS)
      log({ severity: 'WARNING', message: 'An outbox event waited long for its consumer', ageMs });
  }
}
