import { createHmac, createSecretKey } from 'node:crypto';
import { limits } from '../../../../contracts/generated/limits.ts';
import type { CanonicalOutboxLease } from '../../../../contracts/generated/models.ts';
import type { Handler } from '../../../http/handler.ts';
import { placeOwnerOf } from '../../../identity/caller.ts';
import { sha256 } from '../../../kernel/canonical-json.ts';
import { invalidMember } from '../../../kernel/errors.ts';
import { checkProse, identifier } from '../../../kernel/identifiers.ts';
import { formatUtc } from '../../../kernel/timestamp.ts';
import { decisionTime } from '../../../kernel/world.ts';
import type { CanonicalDependencies } from '../dependencies.ts';
import { EVENTS, eventKey, tenantScope } from '../records.ts';
import { dueTime, type EventState, eventRecord, readEvent, wireEvent } from './outbox-event.ts';
import { logDeadLetter, MetEvents } from './outbox-log.ts';
import { optionalMoment } from './outbox-request.ts';
import {
  ackIfLeased,
  leaseIfDue,
  releaseIfLeased,
  renewIfLeased,
  replayIfDeadLettered,
} from './outbox-rules.ts';

const TOKEN_SEED_BYTES = 32;

/** Leases due events of the tenant, earliest first. The list is empty if no event becomes due while the call waits. */
export function leaseCanonicalOutbox(dependencies: CanonicalDependencies): Handler<'leaseCanonicalOutbox'> {
  const { waits, world } = dependencies;
  return async ({ params: { tenantId }, body }, { caller, now, signal, draining, aside }) => {
    const wish: LeaseWish = {
      tenantId,
      consumerId: identifier(body.consumerId, '/consumerId'),
      leaseMs: leaseTime(body.leaseSeconds),
      wanted: body.maxItems ?? limits.outboxLeaseItemsDefault,
    };
    const waitMs = milliseconds(body.waitSeconds) ?? 0;
    if (waits === undefined || waitMs === 0) {
      return { status: 200, body: await leaseDue(dependencies, wish, now) };
    }
    // Each query uses the current time for due events and leases, and not the time of the request.
    const look = () => leaseDue(dependencies, wish, world.clock.now());
    // A stopping server answers its waiting callers at once, as after their timeout.
    const ended = draining === undefined ? signal : AbortSignal.any([signal, draining]);
    const wait = { ...wish, waitMs, signal: ended, caller: placeOwnerOf(caller, aside) };
    return { status: 200, body: await waits.find(wait, look) };
  };
}

interface LeaseWish {
  readonly tenantId: string;
  readonly consumerId: string;
  readonly leaseMs: number;
  readonly wanted: number;
}

async function leaseDue(
  { store: open, world, retention, log }: CanonicalDependencies,
  { tenantId, consumerId, leaseMs, wanted }: LeaseWish,
  now: number,
): Promise<CanonicalOutboxLease[]> {
  // Tokens derive from one seed drawn before the transaction, so that the transaction stays pure when the store repeats it.
  const seed = createSecretKey(world.random.bytes(TOKEN_SEED_BYTES));
  const met = new MetEvents(tenantId);
  const store = await open();
  const leases = await store.claim<CanonicalOutboxLease>(
    tenantScope(tenantId),
    EVENTS,
    { now, limit: wanted },
    (record, offer) => {
      const leaseToken = createHmac('sha256', seed).update(String(offer)).digest('hex');
      const at = decisionTime(world.clock, now);
      const expiresAtUtc = formatUtc(at + leaseMs);
      const next = leaseIfDue(
        readEvent(record),
        { consumerId, tokenHash: sha256(leaseToken), expiresAtUtc },
        formatUtc(at),
      );
      if (next === null) return null;
      const put = eventRecord(next);
      if (next.state !== 'leased') {
        met.parked(next);
        return { put };
      }
      met.leased(record.due);
      const event = wireEvent(tenantId, next, record.body ?? '');
      return { put, result: { event, leaseToken, expiresAtUtc } };
    },
  );
  met.report(log, now);
  retention?.removeBehind(tenantId);
  return leases;
}

export function renewCanonicalOutboxLease(
  dependencies: CanonicalDependencies,
): Handler<'renewCanonicalOutboxLease'> {
  return async ({ params, body }, context) => {
    const leaseMs = leaseTime(body.leaseSeconds);
    const token = readToken(body.leaseToken);
    const { leaseExpiresAtUtc } = await changeEvent(dependencies, params, context.now, (event) => {
      const at = decisionTime(dependencies.world.clock, context.now);
      return renewIfLeased(event, token, formatUtc(at + leaseMs), formatUtc(at));
    });
    return { status: 200, body: { expiresAtUtc: leaseExpiresAtUtc ?? '' } };
  };
}

export function acknowledgeCanonicalOutbox(
  dependencies: CanonicalDependencies,
): Handler<'acknowledgeCanonicalOutbox'> {
  return async ({ params, body }, context) => {
    const token = readToken(body.leaseToken);
    await changeEvent(dependencies, params, context.now, (event) =>
      ackIfLeased(event, token, formatUtc(context.now)),
    );
    return { status: 204, body: null };
  };
}

export function releaseCanonicalOutbox(
  dependencies: CanonicalDependencies,
): Handler<'releaseCanonicalOutbox'> {
  return async ({ params, body }, context) => {
    const token = readToken(body.leaseToken);
    const notBeforeUtc = optionalMoment(body.notBeforeUtc, '/notBeforeUtc');
    const retryAfterMs = milliseconds(body.retryAfterSeconds);
    if (notBeforeUtc !== null && retryAfterMs !== null) {
      throw invalidMember('/retryAfterSeconds', 'must not be given together with notBeforeUtc');
    }
    const error = body.error?.trim() || null;
    if (error !== null) checkProse(error, '/error');
    const release = { notBeforeUtc, retryAfterMs, error };
    const released = await changeEvent(dependencies, params, context.now, (event) =>
      releaseIfLeased(event, token, release, context.now),
    );
    if (released.state === 'dead-letter') logDeadLetter(dependencies.log, params.tenantId, released);
    announce(dependencies, params.tenantId, released);
    return { status: 204, body: null };
  };
}

export function replayCanonicalOutbox(dependencies: CanonicalDependencies): Handler<'replayCanonicalOutbox'> {
  return async ({ params, body }, context) => {
    const reset = body.resetDeliveryCount ?? false;
    const replayed = await changeEvent(dependencies, params, context.now, (event) =>
      replayIfDeadLettered(event, reset, formatUtc(context.now)),
    );
    announce(dependencies, params.tenantId, replayed);
    return { status: 204, body: null };
  };
}

/** Applies a rule to one event, and writes it only if it changed. An expired event counts as missing. */
async function changeEvent(
  dependencies: CanonicalDependencies,
  params: { readonly tenantId: string; readonly eventId: string },
  now: number,
  rule: (event: EventState | undefined) => EventState,
): Promise<EventState> {
  const key = eventKey(params.eventId);
  const store = await dependencies.store();
  return store.transact(tenantScope(params.tenantId), { keys: [{ key }] }, (all) => {
    const found = dependencies.retention?.present(all, now) ?? all;
    const record = found.get(key);
    const event = record === undefined ? undefined : readEvent(record, params.eventId);
    const next = rule(event);
    return { writes: next === event ? [] : [{ put: eventRecord(next) }], result: next };
  });
}

/** Announces the event's next due time to waiting calls of the tenant. A dead letter has none. */
function announce({ waits }: CanonicalDependencies, tenantId: string, event: EventState): void {
  const dueAt = dueTime(event);
  if (dueAt !== null) waits?.announce(tenantId, dueAt);
}

/** The duration of a lease in milliseconds. */
function leaseTime(leaseSeconds: number | null | undefined): number {
  return milliseconds(leaseSeconds) ?? limits.outboxLeaseSecondsDefault * 1000;
}

/** Seconds as whole milliseconds, rounded up. */
function milliseconds(seconds: number | null | undefined): number | null {
  return seconds === undefined || seconds === null ? null : Math.ceil(seconds * 1000);
}

function readToken(token: string): string {
  return identifier(token, '/leaseToken');
}
