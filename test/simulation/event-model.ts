import { sha256 } from '../../functions/kernel/canonical-json.ts';
import type { Call } from './canonical-calls.ts';
import { type EventModel, refused, type Verdict } from './verdict.ts';

/** A lease that has run out on the last allowed delivery leaves a dead letter. */
export function settled(event: EventModel, now: number): EventModel {
  if (event.state !== 'leased' || holds(event, now) || !exhausted(event)) return event;
  return { ...event, state: 'dead', expiry: null, notBefore: null };
}

function holds(event: EventModel, now: number): boolean {
  return event.expiry !== null && now < event.expiry;
}

export function exhausted(event: EventModel): boolean {
  return event.max !== null && event.count >= event.max;
}

export function decisionTime({ now, decided = now }: Call): number {
  return Math.max(now, decided);
}

/** Whether a lease call at `now` may give the event away. */
export function leasable(event: EventModel, now: number): boolean {
  const current = settled(event, now);
  if (current.state === 'open') return current.notBefore === null || current.notBefore <= now;
  return current.state === 'leased' && !holds(current, now);
}

/** The required effect of a call that names one event and its holder's token. */
export function judgeEvent(call: Call, event: EventModel | undefined): Verdict {
  if (event === undefined) return refused('not_found');
  // A renewal is judged by the time of its decision, so that it lasts its whole time.
  const now = call.operation === 'renewCanonicalOutboxLease' ? decisionTime(call) : call.now;
  const current = settled(event, now);
  if (call.operation === 'replayCanonicalOutbox') {
    const { resetDeliveryCount } = call.body as Call<'replayCanonicalOutbox'>['body'];
    if (current.state !== 'dead') return refused('outbox_event_not_dead_lettered');
    const count = resetDeliveryCount === true ? 0 : current.count;
    return changed({ ...current, state: 'open', notBefore: now, expiry: null, tokenHash: null, count });
  }
  const { leaseToken } = call.body as { readonly leaseToken: string };
  if (event.tokenHash !== sha256(leaseToken)) return refused('lease_stale');
  if (call.operation === 'acknowledgeCanonicalOutbox' && current.state === 'delivered') {
    return { kind: 'unchanged' };
  }
  if (current.state !== 'leased' || !holds(current, now)) return refused('lease_not_active');
  if (call.operation === 'acknowledgeCanonicalOutbox') {
    return changed({ ...current, state: 'delivered', expiry: null });
  }
  if (call.operation === 'renewCanonicalOutboxLease') {
    const { leaseSeconds } = call.body as Call<'renewCanonicalOutboxLease'>['body'];
    return changed({ ...current, expiry: now + Math.ceil((leaseSeconds ?? 60) * 1_000) });
  }
  const { retryAfterSeconds } = call.body as Call<'releaseCanonicalOutbox'>['body'];
  const open = { ...current, expiry: null, tokenHash: null };
  if (exhausted(current)) return changed({ ...open, state: 'dead', notBefore: null });
  return changed({ ...open, state: 'open', notBefore: now + Math.ceil((retryAfterSeconds ?? 5) * 1_000) });
}

function changed(event: EventModel): Verdict {
  return { kind: 'event', event };
}
