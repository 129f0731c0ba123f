import { timingSafeEqual } from 'node:crypto';
import { limits } from '../../../../contracts/generated/limits.ts';
import { sha256 } from '../../../kernel/canonical-json.ts';
import { ServiceError } from '../../../kernel/errors.ts';
import { formatUtc, laterUtc } from '../../../kernel/timestamp.ts';
import { atCeiling, type EventState } from './outbox-event.ts';

/** The states of the specification, as the wire spells them. */
export type OutboxState = 'ready' | 'leased' | 'scheduled' | 'delivered' | 'dead-letter';

const DEFAULT_RETRY_DELAY_MS = limits.outboxRetryAfterSecondsDefault * 1_000;

const NO_LEASE = { leaseOwner: null, leaseExpiresAtUtc: null } as const;

/**
 * The event at `now`. Every rule begins with it. An event becomes a dead letter when its last allowed lease expires, even before a
 * call stores that. The token stays stored, so that a late holder gets the same refusal before and after.
 */
export function settle(event: EventState, nowUtc: string): EventState {
  if (event.state !== 'leased' || !leaseIsOver(event, nowUtc) || !atCeiling(event)) return event;
  return {
    ...event,
    ...NO_LEASE,
    state: 'dead-letter',
    notBeforeUtc: null,
    deadLetteredAtUtc: event.leaseExpiresAtUtc,
  };
}

/** The state of a settled event at `now`. Times have a fixed width, so their texts sort in order of time. */
export function stateAt(event: EventState, nowUtc: string): OutboxState {
  if (event.state === 'delivered' || event.state === 'dead-letter') return event.state;
  if (event.state === 'leased' && !leaseIsOver(event, nowUtc)) return 'leased';
  return event.notBeforeUtc !== null && event.notBeforeUtc > nowUtc ? 'scheduled' : 'ready';
}

/** A lease ends at its expiry: at that time it no longer holds. */
function leaseIsOver(event: EventState, nowUtc: string): boolean {
  return event.leaseExpiresAtUtc === null || event.leaseExpiresAtUtc <= nowUtc;
}

export interface OutboxLeaseGrant {
  readonly consumerId: string;
  readonly tokenHash: string;
  readonly expiresAtUtc: string;
}

/** Leases a due event to a consumer, and invalidates older tokens. If no delivery is left, the result is a dead letter instead. */
export function leaseIfDue(event: EventState, grant: OutboxLeaseGrant, nowUtc: string): EventState | null {
  const settled = settle(event, nowUtc);
  if (settled.state === 'dead-letter') return settled === event ? null : settled;
  if (stateAt(settled, nowUtc) !== 'ready') return null;
  return {
    ...settled,
    state: 'leased',
    deliveryCount: settled.deliveryCount + 1,
    leaseOwner: grant.consumerId,
    leaseExpiresAtUtc: grant.expiresAtUtc,
    leaseTokenHash: grant.tokenHash,
  };
}

/** Moves the expiry of an active lease, also to an earlier time. Counts no delivery. */
export function renewIfLeased(
  event: EventState | undefined,
  token: string,
  expiresAtUtc: string,
  nowUtc: string,
): EventState {
  return { ...activeLease(event, token, nowUtc), leaseExpiresAtUtc: expiresAtUtc };
}

/** Marks the event delivered. A repeat with the same token changes nothing and keeps the first time. */
export function ackIfLeased(event: EventState | undefined, token: string, nowUtc: string): EventState {
  const held = heldWith(event, token, nowUtc);
  if (held.state === 'delivered') return held;
  const active = activeLease(held, token, nowUtc);
  return { ...active, ...NO_LEASE, state: 'delivered', deliveredAtUtc: laterUtc(held.createdAtUtc, nowUtc) };
}

export interface LeaseRelease {
  readonly notBeforeUtc: string | null;
  readonly retryAfterMs: number | null;
  readonly error: string | null;
}

/** Releases the event. It becomes due again later, or a dead letter if no delivery is left. */
export function releaseIfLeased(
  event: EventState | undefined,
  token: string,
  release: LeaseRelease,
  now: number,
): EventState {
  const nowUtc = formatUtc(now);
  const held = activeLease(event, token, nowUtc);
  const given: EventState = { ...held, ...NO_LEASE, leaseTokenHash: null, lastError: release.error };
  if (atCeiling(held))
    return {
      ...given,
      state: 'dead-letter',
      notBeforeUtc: null,
      deadLetteredAtUtc: laterUtc(held.createdAtUtc, nowUtc),
    };
  const retryAt = now + (release.retryAfterMs ?? DEFAULT_RETRY_DELAY_MS);
  return { ...given, state: 'open', notBeforeUtc: release.notBeforeUtc ?? formatUtc(retryAt) };
}

/** Makes a dead letter due at once. Its delivery count stays, unless the caller resets it. */
export function replayIfDeadLettered(
  event: EventState | undefined,
  resetDeliveryCount: boolean,
  nowUtc: string,
): EventState {
  if (event === undefined) throw unknownEvent();
  const settled = settle(event, nowUtc);
  if (settled.state !== 'dead-letter') {
    throw new ServiceError('outbox_event_not_dead_lettered', 'Only a dead-lettered event can be replayed', {
      state: stateAt(settled, nowUtc),
    });
  }
  return {
    ...settled,
    ...NO_LEASE,
    leaseTokenHash: null,
    state: 'open',
    notBeforeUtc: nowUtc,
    deadLetteredAtUtc: null,
    lastError: null,
    deliveryCount: resetDeliveryCount ? 0 : settled.deliveryCount,
  };
}

function activeLease(event: EventState | undefined, token: string, nowUtc: string): EventState {
  const held = heldWith(event, token, nowUtc);
  if (held.state !== 'leased' || leaseIsOver(held, nowUtc)) {
    throw new ServiceError('lease_not_active', 'The lease is no longer active', {
      state: stateAt(held, nowUtc),
    });
  }
  return held;
}

/** The event, if `token` is its latest. Throws `not_found` without an event, and `lease_stale` for another token. */
function heldWith(event: EventState | undefined, token: string, nowUtc: string): EventState {
  if (event === undefined) throw unknownEvent();
  const settled = settle(event, nowUtc);
  if (event.leaseTokenHash === null || !sameHash(event.leaseTokenHash, sha256(token))) {
    throw new ServiceError('lease_stale', 'The lease token is not the one that holds this event');
  }
  return settled;
}

/** Compares in constant time, so that the duration reveals nothing about a guessed token. */
function sameHash(left: string, right: string): boolean {
  return left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right));
}

function unknownEvent(): ServiceError {
  return new ServiceError('not_found', 'There is no such outbox event in this tenant');
}
