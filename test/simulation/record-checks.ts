import { canonicalJson } from '../../functions/kernel/canonical-json.ts';
import type { Head, RecordData } from '../../functions/store/port.ts';
import type { Change } from './memory-database.ts';
import { nameOf } from './model.ts';
import type { DocumentEffect, EventModel, FenceEffect } from './verdict.ts';
import { must } from './violation.ts';

/** Checks of the records after a change of the document, fence or event that they store. */

export function checkDocument(
  changes: readonly Change[],
  receipt: RecordData | undefined,
  effect: DocumentEffect,
): void {
  const { documentType, id, revision, deleted, dataText } = effect;
  const change = changes.find(
    ({ after }) => after?.head.documentType === documentType && after.head.id === id,
  );
  const after = change?.after;
  must(after !== undefined, 'I2 whole', `a commit left out the document ${id}`);
  const before = Number(change?.before?.head.revision ?? 0);
  must(
    before + 1 === revision && after.head.revision === revision,
    'I4 revisions',
    `${id} went from ${before}`,
  );
  must(after.head.deleted === deleted && after.body === dataText, 'I2 whole', `${id} has other content`);
  const filed = receipt?.parts?.filter(({ of }) => of === after.key.id) ?? [];
  must(filed.length === 1, 'I4 revisions', `revision ${revision} of ${id} was filed ${filed.length} times`);
  must(
    Number(filed[0]?.order) === revision,
    'I4 revisions',
    `revision ${revision} of ${id} has another place`,
  );
}

export function checkFence(changes: readonly Change[], { name, value, owner }: FenceEffect): void {
  const of = (head: Head | undefined) =>
    head === undefined ? null : nameOf(String(head.ownerDocumentType), String(head.ownerDocumentId));
  const change = changes.find(({ before, after }) => {
    const head = (after ?? before)?.head;
    return head?.name === name && head.value === value;
  });
  must(change !== undefined, 'I5 fence', `the fence ${value} was not moved`);
  must(
    change.before === undefined || change.after === undefined,
    'I5 fence',
    `the fence ${value} changed hands`,
  );
  must(of(change.after?.head) === owner, 'I5 fence', `the fence ${value} has another owner`);
}

const STATES = { open: 'open', leased: 'leased', delivered: 'delivered', dead: 'dead-letter' } as const;

/** Checks that the record of an event agrees with the model, also about the time of its next delivery. */
export function checkEvent({ before, after }: Change, event: EventModel): void {
  must(after !== undefined, 'I6 event', `${event.id} is gone`);
  const { head, due, body, listing } = after;
  const moment = (text: unknown) => (typeof text === 'string' ? Date.parse(text) : null);
  const found = {
    id: head.id,
    state: head.state,
    count: head.deliveryCount,
    max: head.maxDeliveryAttempts,
    notBefore: moment(head.notBeforeUtc),
    expiry: moment(head.leaseExpiresAtUtc),
    tokenHash: head.leaseTokenHash,
    topic: listing?.indexes.topic,
  };
  const { state, expiry, notBefore } = event;
  const expected = { ...found, ...event, state: STATES[state] };
  const difference = Object.keys(found).filter((name) => found[name as 'id'] !== expected[name as 'id']);
  must(difference.length === 0, 'I6 event', `${event.id} has another ${difference.join(', ')}`);
  const dueAt =
    state === 'open' ? (notBefore ?? moment(head.createdAtUtc)) : state === 'leased' ? expiry : null;
  must(due === dueAt, 'I6 event', `${event.id} is due at ${due}, not ${dueAt}`);
  must(before === undefined || before.body === body, 'I6 event', `${event.id} has another payload`);
}

/** The answer that a receipt stands for, put together from the record alone. */
export function resultOf(tenantId: string, { head, body, parts }: RecordData): string {
  const { documents, outbox } = JSON.parse(body ?? '') as { documents: string[]; outbox: unknown[] };
  const revision = (id: string) => parts?.find(({ of }) => of === id)?.body ?? '{}';
  const { transactionId, idempotencyKey, correlationId, actor, committedAtUtc } = head;
  return canonicalJson({
    transactionId,
    tenantId,
    idempotencyKey,
    correlationId,
    actor,
    committedAtUtc,
    documents: documents.map((id) => (JSON.parse(revision(id)) as { document: unknown }).document),
    outbox,
  });
}
