import type {
  CanonicalDocument,
  CanonicalFenceMutation,
  CanonicalMutation,
  CanonicalOutboxLease,
  CanonicalTransactionRequest,
  CanonicalTransactionResult,
} from '../../contracts/generated/models.ts';
import { addCopies } from './copy-histories.ts';
import type { History, Observation } from './history.ts';
import type { Observed } from './linearizability.ts';
import { nameOf } from './model.ts';
import { add, type Histories, type ObjectHistories } from './object-histories.ts';
import type { DocumentWrite, EventOp, FenceChange } from './object-models.ts';

/** Beyond this a search may take too long; a longer history is cut where that is allowed: at its end. */
const OPERATIONS_MAX = 120;

export function objectHistories(history: History): ObjectHistories {
  const histories: ObjectHistories = { documents: new Map(), fences: new Map(), events: new Map() };
  // A lease call without an answer may have taken any event.
  const lostLeases: Observed<EventOp>[] = [];
  for (const observation of history.observations) {
    // The call had no effect and showed nothing.
    if (observation.outcome.kind === 'failed') continue;
    if (observation.operation === 'commitCanonicalTransaction') addCommit(histories, observation);
    else if (observation.operation === 'readCanonicalDocument') addRead(histories, observation);
    else if (observation.operation === 'leaseCanonicalOutbox') addLease(histories, observation, lostLeases);
    else addEventCall(histories, observation);
  }
  addCopies(histories, history.observations);
  for (const events of histories.events.values()) events.push(...lostLeases);
  for (const kind of [histories.documents, histories.fences, histories.events]) {
    for (const [name, list] of kind as Histories<unknown>) kind.set(name, cut(list) as never);
  }
  return histories;
}

/** A part that ends at one moment: what was under way then has no answer yet. */
function cut<Op>(list: readonly Observed<Op>[]): Observed<Op>[] {
  const ordered = [...list].sort((left, right) => left.called - right.called);
  return ordered.length <= OPERATIONS_MAX ? ordered : [];
}

function addCommit(histories: ObjectHistories, observation: Observation): void {
  const { outcome } = observation;
  const request = observation.body as CanonicalTransactionRequest;
  const result = outcome.kind === 'answer' ? (outcome.body as CanonicalTransactionResult) : undefined;
  const code = outcome.kind === 'refused' ? outcome.error.code : undefined;
  const blamed = code === undefined ? undefined : blamedPointer(outcome);
  const key = request.idempotencyKey;
  request.mutations?.forEach((mutation, n) => {
    const refusedPart = blamed?.startsWith(`/mutations/${n}/`) === true ? ('refused' as const) : undefined;
    const answer =
      result?.documents[n]?.revision ?? refusedPart ?? (outcome.kind === 'unknown' ? 'unknown' : undefined);
    // A request that was refused for another reason shows nothing about this document.
    if (answer === undefined) return;
    const write = documentWrite(mutation, key, answer, result?.replayed === true);
    add(histories.documents, documentName(mutation), write, observation);
  });
  request.fences?.forEach((fence, n) => {
    const done = result?.replayed === true ? ('replayed' as const) : ('done' as const);
    const refusedPart = blamed?.startsWith(`/fences/${n}/`) === true ? ('refused' as const) : undefined;
    const answer =
      result !== undefined ? done : (refusedPart ?? (outcome.kind === 'unknown' ? 'unknown' : undefined));
    if (answer === undefined) return;
    add(histories.fences, nameOf(fence.name, fence.value), fenceChange(fence, key, answer), observation);
  });
}

/** One mutation of the commit under `key`, with the outcome that its caller saw. */
export function documentWrite(
  mutation: CanonicalMutation,
  key: string,
  answer: DocumentWrite['answer'],
  replayed: boolean,
): DocumentWrite {
  const deletes = mutation.operation === 'delete';
  return { kind: 'write', key, deletes, condition: conditionOf(mutation), answer, replayed };
}

export function fenceChange(
  fence: CanonicalFenceMutation,
  key: string,
  answer: FenceChange['answer'],
): FenceChange {
  const owner = nameOf(fence.ownerDocumentType, fence.ownerDocumentId);
  return { key, operation: fence.operation ?? 'claim', owner, answer };
}

/** The pointer to the part of the request that a refusal names, ended by a slash. */
export function blamedPointer(outcome: Observation['outcome']): string | undefined {
  if (outcome.kind !== 'refused' || outcome.error.code === 'idempotency_conflict') return undefined;
  const errors = outcome.error.extensions.errors;
  return errors?.[0] === undefined ? undefined : `${errors[0].pointer}/`;
}

function documentName(mutation: CanonicalMutation): string {
  const { documentType, id } = mutation.document ?? mutation;
  return nameOf(documentType ?? '', id ?? '');
}

function conditionOf(mutation: CanonicalMutation): (revision: number, deleted: boolean) => boolean {
  const { expectedRevision = null, mustExist, mustNotExist } = mutation.precondition ?? {};
  return (revision, deleted) =>
    (mustExist !== true || revision > 0) &&
    (mustNotExist !== true || revision === 0) &&
    (expectedRevision === null || (revision > 0 && expectedRevision === revision)) &&
    (mutation.operation !== 'delete' || (revision > 0 && !deleted));
}

function addRead(histories: ObjectHistories, observation: Observation): void {
  const { outcome } = observation;
  const body = observation.body as { documentType: string; id: string; includeDeleted?: boolean | null };
  const name = nameOf(body.documentType, body.id);
  if (outcome.kind === 'answer') {
    const { revision, deleted } = outcome.body as CanonicalDocument;
    add(histories.documents, name, { kind: 'read', revision, deleted }, observation);
  } else if (outcome.kind === 'refused') {
    const includeDeleted = body.includeDeleted === true;
    add(histories.documents, name, { kind: 'read none', includeDeleted }, observation);
  }
}

function addLease(histories: ObjectHistories, observation: Observation, lost: Observed<EventOp>[]): void {
  const { outcome, called } = observation;
  if (outcome.kind === 'unknown') {
    lost.push({
      operation: { kind: 'lease', token: `lost ${called}`, count: 'unknown' },
      called,
      returned: null,
    });
  }
  if (outcome.kind !== 'answer') return;
  for (const { event, leaseToken } of outcome.body as readonly CanonicalOutboxLease[]) {
    const operation = { kind: 'lease', token: leaseToken, count: event.deliveryCount } as const;
    add(histories.events, event.id, operation, observation);
  }
}

const KINDS: Readonly<Record<string, 'renew' | 'ack' | 'release'>> = {
  renewCanonicalOutboxLease: 'renew',
  acknowledgeCanonicalOutbox: 'ack',
  releaseCanonicalOutbox: 'release',
};

function addEventCall(histories: ObjectHistories, observation: Observation): void {
  const { outcome, params, operation } = observation;
  const { eventId } = params as { eventId?: string };
  if (eventId === undefined) return;
  if (operation === 'replayCanonicalOutbox') {
    // A refused replay speaks of a state that passes with time.
    if (outcome.kind === 'refused') return;
    const { resetDeliveryCount } = observation.body as { resetDeliveryCount?: boolean | null };
    add(histories.events, eventId, { kind: 'replay', reset: resetDeliveryCount === true }, observation);
    return;
  }
  const kind = KINDS[operation];
  if (kind === undefined) return;
  const { leaseToken: token } = observation.body as { leaseToken: string };
  const answer =
    outcome.kind === 'refused' ? outcome.error.code : outcome.kind === 'answer' ? 'done' : 'unknown';
  if (answer !== 'done' && answer !== 'unknown' && answer !== 'lease_stale' && answer !== 'lease_not_active')
    return;
  add(histories.events, eventId, { kind, token, answer }, observation);
}
