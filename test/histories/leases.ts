import type {
  CanonicalOutboxEvent,
  CanonicalOutboxLeaseList,
  CanonicalOutboxQueryResult,
  CanonicalTransactionRequest,
} from '../../contracts/generated/models.ts';
import { sha256 } from '../../functions/kernel/canonical-json.ts';
import type { Call } from '../simulation/canonical-calls.ts';
import { judgeEvent, leasable, settled } from '../simulation/event-model.ts';
import type { History, Observation } from '../simulation/history.ts';
import type { ObjectModel, Observed } from '../simulation/linearizability.ts';
import { type EventModel } from '../simulation/verdict.ts';

/** The effect of one call on one event. The caller hands in the time, so it is part of the operation. */
type LeaseOp = { readonly now: number } & (
  | {
      /** Leased to a holder. Where the answer was lost, no client knows the token. */
      readonly kind: 'lease';
      readonly token: string;
      readonly count: number | 'unknown';
      readonly expiry: number;
    }
  /** Renewed, acknowledged, released or replayed: the request of the holder, and the code of its answer. */
  | { readonly kind: 'call'; readonly call: Call; readonly answer: string; readonly latest: number }
  | { readonly kind: 'look'; readonly seen: EventLook; readonly latest: number }
);

type EventLook = Pick<EventModel, 'count' | 'expiry' | 'notBefore'> & {
  readonly delivered: boolean;
  readonly dead: boolean;
};

/** An event by the rules of the specification, from its commit on. */
function leaseModel(id: string, max: number | null): ObjectModel<EventModel, LeaseOp> {
  const none = { topic: '', notBefore: null, count: 0, expiry: null, tokenHash: null } as const;
  return { initial: { ...none, id, max, state: 'open' }, key: (state) => JSON.stringify(state), step };
}

function step(state: EventModel, op: LeaseOp): EventModel | undefined {
  if (op.kind === 'lease') {
    const count = state.count + 1;
    if (!leasable(state, op.now) || (op.count !== 'unknown' && op.count !== count)) return undefined;
    return { ...state, state: 'leased', count, expiry: op.expiry, tokenHash: sha256(op.token) };
  }
  const asItWas = op.kind === 'look' ? look(state, op.now, op.seen) : judge(state, op.call, op.answer);
  if (asItWas !== undefined) return asItWas;
  // A lease call of a later time, which got nothing of this event, may have written down that it is a dead letter.
  const parked = settled(state, op.latest);
  if (parked === state) return undefined;
  return op.kind === 'look' ? look(parked, op.now, op.seen) : judge(parked, op.call, op.answer);
}

function judge(state: EventModel, call: Call, answer: string): EventModel | undefined {
  const verdict = judgeEvent(call, state);
  const expected = verdict.kind === 'refused' ? verdict.code : 'done';
  if (answer !== 'unknown' && answer !== expected) return undefined;
  if (verdict.kind === 'event') return verdict.event;
  // Without an answer and without an effect it has no place.
  return answer === 'unknown' ? undefined : state;
}

function look(state: EventModel, now: number, seen: EventLook): EventModel | undefined {
  return looksAs(settled(state, now), seen) ? state : undefined;
}

function looksAs(event: EventModel, seen: EventLook): boolean {
  return (
    event.count === seen.count &&
    event.expiry === seen.expiry &&
    event.notBefore === seen.notBefore &&
    (event.state === 'delivered') === seen.delivered &&
    (event.state === 'dead') === seen.dead
  );
}

export interface EventHistory {
  readonly model: ObjectModel<EventModel, LeaseOp>;
  readonly list: Observed<LeaseOp>[];
}

/** The history of each event that the tenant's first commit brought. */
export function eventHistories(history: History): Map<string, EventHistory> {
  const events = new Map<string, EventHistory>();
  const times = new LeaseTimes(history);
  for (const observation of history.observations) {
    if (observation.operation === 'commitCanonicalTransaction') addEvents(events, observation);
    else if (observation.outcome.kind === 'failed') continue;
    else if (observation.operation === 'leaseCanonicalOutbox') addLeases(events, observation);
    else if (observation.operation === 'queryCanonicalOutbox') addLooks(events, observation, times);
    else addCall(events, observation, times);
  }
  return events;
}

/** The latest time that any lease call was handed before another call had returned. */
class LeaseTimes {
  readonly #calls: readonly Observation[];

  constructor({ observations }: History) {
    this.#calls = observations.filter(({ operation }) => operation === 'leaseCanonicalOutbox');
  }

  before({ now, returned }: Observation): number {
    const end = returned ?? Number.POSITIVE_INFINITY;
    return this.#calls.reduce(
      (latest, call) => (call.called < end ? Math.max(latest, call.now) : latest),
      now,
    );
  }
}

function addEvents(events: Map<string, EventHistory>, { body, outcome }: Observation): void {
  if (outcome.kind !== 'answer') throw new Error('the events of a history are committed before it begins');
  for (const { id, maxDeliveryAttempts = null } of (body as CanonicalTransactionRequest).outbox ?? []) {
    events.set(id ?? '', { model: leaseModel(id ?? '', maxDeliveryAttempts), list: [] });
  }
}

function addLeases(events: Map<string, EventHistory>, observation: Observation): void {
  const { outcome, now, called, returned } = observation;
  if (outcome.kind === 'unknown') {
    const { leaseSeconds } = observation.body as { leaseSeconds: number };
    const expiry = now + Math.ceil(leaseSeconds * 1_000);
    const operation = { kind: 'lease', now, token: `lost ${called}`, count: 'unknown', expiry } as const;
    for (const { list } of events.values()) list.push({ operation, called, returned });
  }
  if (outcome.kind !== 'answer') return;
  for (const { event, leaseToken: token, expiresAtUtc } of outcome.body as CanonicalOutboxLeaseList) {
    const expiry = Date.parse(expiresAtUtc);
    const operation = { kind: 'lease', now, token, count: event.deliveryCount, expiry } as const;
    events.get(event.id)?.list.push({ operation, called, returned });
  }
}

function addLooks(events: Map<string, EventHistory>, observation: Observation, times: LeaseTimes): void {
  const { outcome, now, called, returned } = observation;
  if (outcome.kind !== 'answer') return;
  const latest = times.before(observation);
  const { items } = outcome.body as CanonicalOutboxQueryResult;
  const shown = new Map(items.map((item) => [item.id, item]));
  for (const [id, { list }] of events) {
    const item = shown.get(id);
    if (item === undefined) throw new Error(`${id} is missing in the list of all events`);
    list.push({ operation: { kind: 'look', now, latest, seen: lookOf(item) }, called, returned });
  }
}

function lookOf(item: CanonicalOutboxEvent): EventLook {
  return {
    count: item.deliveryCount,
    expiry: moment(item.leaseExpiresAtUtc),
    notBefore: moment(item.notBeforeUtc),
    delivered: item.deliveredAtUtc !== null,
    dead: item.deadLetteredAtUtc !== null,
  };
}

function moment(text: string | null): number | null {
  return text === null ? null : Date.parse(text);
}

function addCall(events: Map<string, EventHistory>, observation: Observation, times: LeaseTimes): void {
  const { outcome, now, called, returned, operation, params, body } = observation;
  const { eventId } = params as { eventId: string };
  const answer =
    outcome.kind === 'refused' ? outcome.error.code : outcome.kind === 'answer' ? 'done' : 'unknown';
  const call = { operation, params, body, now, number: called, instance: '', verdict: undefined } as Call;
  const latest = times.before(observation);
  events
    .get(eventId)
    ?.list.push({ operation: { kind: 'call', now, latest, call, answer }, called, returned });
}
