import type { CanonicalOutboxEvent } from '../../../../contracts/generated/models.ts';
import { CanonicalText, canonicalJson, type Json } from '../../../kernel/canonical-json.ts';
import { parseJson } from '../../../kernel/json-text.ts';
import { type Head, type RecordData, StoreError } from '../../../store/port.ts';
import { EVENTS, eventKey } from '../records.ts';

/** The stored state. `stateAt` gives the state at a time, because due times pass without a write. */
type StoredState = 'open' | 'leased' | 'delivered' | 'dead-letter';

/** An outbox event without its payload and headers, which never change. */
export interface EventState {
  readonly id: string;
  readonly transactionId: string;
  readonly topic: string;
  readonly key: string;
  readonly state: StoredState;
  readonly createdAtUtc: string;
  readonly notBeforeUtc: string | null;
  readonly maxDeliveryAttempts: number | null;
  /** The number of leases. Each is a delivery that may have reached its consumer. */
  readonly deliveryCount: number;
  readonly leaseOwner: string | null;
  readonly leaseExpiresAtUtc: string | null;
  /** `sha256:` of the lease token. Only the consumer knows the token. */
  readonly leaseTokenHash: string | null;
  readonly deliveredAtUtc: string | null;
  readonly deadLetteredAtUtc: string | null;
  readonly lastError: string | null;
}

/** Indexes with which queries by state begin. `stateAt` then decides about each event. */
export const EVENT_INDEX = { phase: 'phase', topic: 'topic', parked: 'parked' } as const;

export const EVENT_GROUP = 'event';

/** An event record for the store. Without `body` the stored payload and headers stay unchanged. */
export function eventRecord(event: EventState, body?: string): RecordData {
  const open = event.state === 'open' || event.state === 'leased';
  const lastLease = event.state === 'leased' && atCeiling(event);
  return {
    key: eventKey(event.id),
    head: { ...event } satisfies Head,
    ...(body === undefined ? {} : { body }),
    listing: {
      group: EVENT_GROUP,
      // Sorts by time, then event id. Ids are mostly hashes, which would spread new events over all pages of the database; with the
      // time first, new events are stored side by side.
      id: `${event.createdAtUtc}~${event.id}`,
      hidden: false,
      indexes: {
        [EVENT_INDEX.topic]: event.topic,
        ...(open ? { [EVENT_INDEX.phase]: 'open' } : {}),
        ...(event.state === 'delivered' ? { [EVENT_INDEX.phase]: 'delivered' } : {}),
        // An event on its last lease becomes a dead letter without a write, so the index already holds it.
        ...(event.state === 'dead-letter' || lastLease ? { [EVENT_INDEX.parked]: 'yes' } : {}),
      },
    },
    due: dueTime(event),
  };
}

/** The time from which lease calls should read the event: when it becomes due, or when its lease expires. */
export function dueTime(event: EventState): number | null {
  if (event.state === 'open') return Date.parse(event.notBeforeUtc ?? event.createdAtUtc);
  return event.state === 'leased' && event.leaseExpiresAtUtc !== null
    ? Date.parse(event.leaseExpiresAtUtc)
    : null;
}

export function atCeiling(event: EventState): boolean {
  return event.maxDeliveryAttempts !== null && event.deliveryCount >= event.maxDeliveryAttempts;
}

/** The event in the record. Throws `StoreError` `corrupt` if it has another id than `id`. */
export function readEvent(record: RecordData, id?: string): EventState {
  const { head } = record;
  if (record.key.collection !== EVENTS.name || (id !== undefined && head.id !== id)) {
    throw new StoreError('corrupt', 'an event record does not hold the event that its id names');
  }
  // The head was written from a whole `EventState`.
  return head as unknown as EventState;
}

/** The immutable part of the event as the record's body. The payload is canonical text. */
export function eventBody(payloadText: string, headers: Readonly<Record<string, string>>): string {
  return canonicalJson({ headers, payload: new CanonicalText(payloadText) });
}

/** The event in its wire form. The record was read with its body. */
export function wireEvent(tenantId: string, event: EventState, body: string): CanonicalOutboxEvent {
  const { headers, payload } = parseJson(body) as { headers: Record<string, string>; payload: Json };
  return eventInWireOrder({ ...event, tenantId, payload, headers });
}

/** The event's public members in the order of the contract, as in all answers. */
export function eventInWireOrder(event: CanonicalOutboxEvent): CanonicalOutboxEvent {
  return {
    id: event.id,
    tenantId: event.tenantId,
    transactionId: event.transactionId,
    topic: event.topic,
    key: event.key,
    payload: event.payload,
    headers: event.headers,
    notBeforeUtc: event.notBeforeUtc,
    deliveryCount: event.deliveryCount,
    deliveredAtUtc: event.deliveredAtUtc,
    leaseOwner: event.leaseOwner,
    leaseExpiresAtUtc: event.leaseExpiresAtUtc,
    maxDeliveryAttempts: event.maxDeliveryAttempts,
    deadLetteredAtUtc: event.deadLetteredAtUtc,
    lastError: event.lastError,
  };
}
