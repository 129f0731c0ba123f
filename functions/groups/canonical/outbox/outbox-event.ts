import type { CanonicalOutboxEvent } from '../../../../contracts/generated/models.ts';
import { CanonicalText, canonicalJson, type Json } from '../../../kernel/canonical-json.ts';
import { parseJson } from '../../../kernel/json-text.ts';
import { type Head, type RecordData, StoreError } from '../../../store/port.ts';
import { EVENTS, eventKey } from '../records.ts';

/** The state as stored. `stateAt` gives the state at a moment: due times pass without a write. */
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
  /** How many leases were given: each is a delivery that may have reached its consumer. */
  readonly deliveryCount: number;
  readonly leaseOwner: string | null;
  readonly leaseExpiresAtUtc: string | null;
  /** `sha256:` of the lease token; the token itself is known to its holder alone. */
  readonly leaseTokenHash: string | null;
  readonly deliveredAtUtc: string | null;
  readonly deadLetteredAtUtc: string | null;
  readonly lastError: string | null;
}

/** The name of the set that an operator's query by state begins from; `stateAt` decides on each member. */
export const EVENT_INDEX = { phase: 'phase', topic: 'topic', parked: 'parked' } as const;

export const EVENT_GROUP = 'event';

/** An event record for the store. Without `body` the stored payload and headers stay as they are. */
export function eventRecord(event: EventState, body?: string): RecordData {
  const open = event.state === 'open' || event.state === 'leased';
  const lastLease = event.state === 'leased' && atCeiling(event);
  return {
    key: eventKey(event.id),
    head: { ...event } satisfies Head,
    ...(body === undefined ? {} : { body }),
    listing: {
      group: EVENT_GROUP,
      // Oldest first, then by event id. Ids are mostly hashes: in their own order every event would land on another page of
      // the database, whereas new ones now lie side by side.
      id: `${event.createdAtUtc}~${event.id}`,
      hidden: false,
      indexes: {
        [EVENT_INDEX.topic]: event.topic,
        ...(open ? { [EVENT_INDEX.phase]: 'open' } : {}),
        ...(event.state === 'delivered' ? { [EVENT_INDEX.phase]: 'delivered' } : {}),
        // On its last lease an event becomes a dead letter by the mere passing of time, so it is listed here before.
        ...(event.state === 'dead-letter' || lastLease ? { [EVENT_INDEX.parked]: 'yes' } : {}),
      },
    },
    due: dueTime(event),
  };
}

/** When the next lease call should meet the event: once it may be leased, or once its lease has run out. */
export function dueTime(event: EventState): number | null {
  if (event.state === 'open') return Date.parse(event.notBeforeUtc ?? event.createdAtUtc);
  return event.state === 'leased' && event.leaseExpiresAtUtc !== null
    ? Date.parse(event.leaseExpiresAtUtc)
    : null;
}

export function atCeiling(event: EventState): boolean {
  return event.maxDeliveryAttempts !== null && event.deliveryCount >= event.maxDeliveryAttempts;
}

/** The event that the record holds. Throws `StoreError` `corrupt` when it is not the one that `id` names. */
export function readEvent(record: RecordData, id?: string): EventState {
  const { head } = record;
  if (record.key.collection !== EVENTS.name || (id !== undefined && head.id !== id)) {
    throw new StoreError('corrupt', 'an event record does not hold the event that its id names');
  }
  // The head was written from an `EventState` whole.
  return head as unknown as EventState;
}

/** The immutable part of the event as the record's body. The payload is canonical text. */
export function eventBody(payloadText: string, headers: Readonly<Record<string, string>>): string {
  return canonicalJson({ headers, payload: new CanonicalText(payloadText) });
}

/** The event as the wire shows it; the record was read with its body. */
export function wireEvent(tenantId: string, event: EventState, body: string): CanonicalOutboxEvent {
  const { headers, payload } = parseJson(body) as { headers: Record<string, string>; payload: Json };
  return eventInWireOrder({ ...event, tenantId, payload, headers });
}

/** The event's public members, in the order of the contract, in which all answers show them. */
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
