import { createHmac } from 'node:crypto';
import { limits } from '../../contracts/generated/limits.ts';
import type { CanonicalOutboxLease } from '../../contracts/generated/models.ts';
import type { Handler } from '../http/handler.ts';
import { sha256 } from '../kernel/canonical-json.ts';
import { invalidMember } from '../kernel/errors.ts';
import { checkText, identifier } from '../kernel/identifiers.ts';
import { formatUtc } from '../kernel/timestamp.ts';
import type { CanonicalDependencies } from './dependencies.ts';
import { type EventState, eventRecord, readEvent, wireEvent } from './outbox-event.ts';
import { optionalMoment } from './outbox-request.ts';
import {
  ackIfLeased,
  leaseIfDue,
  releaseIfLeased,
  renewIfLeased,
  replayIfDeadLettered,
} from './outbox-rules.ts';
import { EVENTS, eventKey, tenantScope } from './records.ts';

const TOKEN_SEED_BYTES = 32;

/** Leases due events of the tenant, earliest first; an empty list where nothing is due. */
export function leaseCanonicalOutbox(dependencies: CanonicalDependencies): Handler<'leaseCanonicalOutbox'> {
  return async ({ params, body }, context) => {
    const consumerId = identifier(body.consumerId, '/consumerId');
    const nowUtc = formatUtc(context.now);
    const expiresAtUtc = expiry(context.now, body.leaseSeconds);
    // One seed drawn before the transaction gives every offer its own token, also when the store decides again.
    const seed = dependencies.world.random.bytes(TOKEN_SEED_BYTES);
    const store = await dependencies.store();
    const leases = await store.claim<CanonicalOutboxLease>(
      tenantScope(params.tenantId),
      EVENTS,
      { now: context.now, limit: body.maxItems ?? limits.outboxLeaseItemsDefault },
      (record, offer) => {
        const leaseToken = createHmac('sha256', seed).update(String(offer)).digest('hex');
        const grant = { consumerId, tokenHash: sha256(leaseToken), expiresAtUtc };
        const next = leaseIfDue(readEvent(record), grant, nowUtc);
        if (next === null) return null;
        const put = eventRecord(next);
        if (next.state !== 'leased') return { put };
        const event = wireEvent(params.tenantId, next, record.body ?? '');
        return { put, result: { event, leaseToken, expiresAtUtc } };
      },
    );
    return { status: 200, body: leases };
  };
}

export function renewCanonicalOutboxLease(
  dependencies: CanonicalDependencies,
): Handler<'renewCanonicalOutboxLease'> {
  return async ({ params, body }, context) => {
    const expiresAtUtc = expiry(context.now, body.leaseSeconds);
    const token = readToken(body.leaseToken);
    await changeEvent(dependencies, params, (event) =>
      renewIfLeased(event, token, expiresAtUtc, formatUtc(context.now)),
    );
    return { status: 200, body: { expiresAtUtc } };
  };
}

export function acknowledgeCanonicalOutbox(
  dependencies: CanonicalDependencies,
): Handler<'acknowledgeCanonicalOutbox'> {
  return async ({ params, body }, context) => {
    const token = readToken(body.leaseToken);
    await changeEvent(dependencies, params, (event) => ackIfLeased(event, token, formatUtc(context.now)));
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
      throw invalidMember('/retryAfterSeconds', 'excludes notBeforeUtc');
    }
    const error = body.error?.trim() || null;
    // Line breaks belong to an error text; what no text may hold is refused.
    if (error !== null) checkText(error.replace(/[\t\n\r]/g, ' '), '/error');
    const release = { notBeforeUtc, retryAfterMs, error };
    await changeEvent(dependencies, params, (event) => releaseIfLeased(event, token, release, context.now));
    return { status: 204, body: null };
  };
}

export function replayCanonicalOutbox(dependencies: CanonicalDependencies): Handler<'replayCanonicalOutbox'> {
  return async ({ params, body }, context) => {
    const reset = body.resetDeliveryCount ?? false;
    await changeEvent(dependencies, params, (event) =>
      replayIfDeadLettered(event, reset, formatUtc(context.now)),
    );
    return { status: 204, body: null };
  };
}

/** Applies a rule to one event; an event that the rule leaves as it is, is not written. */
async function changeEvent(
  dependencies: CanonicalDependencies,
  params: { readonly tenantId: string; readonly eventId: string },
  rule: (event: EventState | undefined) => EventState,
): Promise<void> {
  const key = eventKey(params.eventId);
  const store = await dependencies.store();
  await store.transact(tenantScope(params.tenantId), { keys: [{ key }] }, (found) => {
    const record = found.get(key);
    const event = record === undefined ? undefined : readEvent(record, params.eventId);
    const next = rule(event);
    return { writes: next === event ? [] : [{ put: eventRecord(next) }], result: undefined };
  });
}

function expiry(now: number, leaseSeconds: number | null | undefined): string {
  return formatUtc(now + (milliseconds(leaseSeconds) ?? limits.outboxLeaseSecondsDefault * 1000));
}

/** Whole milliseconds, never fewer than asked for. */
function milliseconds(seconds: number | null | undefined): number | null {
  return seconds === undefined || seconds === null ? null : Math.ceil(seconds * 1000);
}

function readToken(token: string): string {
  return identifier(token, '/leaseToken');
}
