import type {
  CanonicalOutboxEvent,
  CanonicalTransactionResult,
} from '../../../../contracts/generated/models.ts';
import { ServiceError } from '../../../kernel/errors.ts';
import { formatUtc, laterUtc } from '../../../kernel/timestamp.ts';
import {
  type Decision,
  type KeyRequest,
  type LoadedRecords,
  type RecordData,
  StoreError,
  type TransactRequest,
  type Write,
} from '../../../store/port.ts';
import {
  applyMutation,
  checkMutation,
  documentState,
  documentText,
  type WrittenDocument,
} from '../document/document.ts';
import { type EventState, eventBody, eventRecord, wireEvent } from '../outbox/outbox-event.ts';
import { commitKey, documentKey, eventKey, fenceKey } from '../records.ts';
import { type CommitRequest, refuseRepeats, requestHash, transactionId } from './commit-request.ts';
import { applyFence } from './fence.ts';
import { receiptRecord } from './receipt.ts';

/** The parts of a commit that do not depend on stored records. The transaction may decide it several times. */
export interface CommitPlan {
  readonly request: CommitRequest;
  readonly transactionId: string;
  readonly requestHash: string;
  readonly committedAtUtc: string;
  readonly events: readonly { readonly event: EventState; readonly body: string }[];
}

export type CommitOutcome =
  | { readonly answeredFromReceipt: false; readonly result: CanonicalTransactionResult }
  /** The receipt exists, and its stored result is the answer. */
  | { readonly answeredFromReceipt: true };

/** Throws `duplicate_in_request` if a supplied event id equals the generated id of another event in the request. */
export function planCommit(request: CommitRequest, now: number): CommitPlan {
  const id = transactionId(request);
  const committedAtUtc = formatUtc(now);
  const events = request.outbox.map((write, position) => {
    const event: EventState = {
      // The position counts all events of the request, also those with a supplied id.
      id: write.id ?? `${id}:${String(position).padStart(3, '0')}`,
      transactionId: id,
      topic: write.topic,
      key: write.key,
      state: 'open',
      createdAtUtc: committedAtUtc,
      notBeforeUtc: write.notBeforeUtc,
      maxDeliveryAttempts: write.maxDeliveryAttempts,
      deliveryCount: 0,
      leaseOwner: null,
      leaseExpiresAtUtc: null,
      leaseTokenHash: null,
      deliveredAtUtc: null,
      deadLetteredAtUtc: null,
      lastError: null,
    };
    return { event, body: eventBody(write.payloadText, write.headers) };
  });
  refuseRepeats(events, '/outbox', 'event id', ({ event }) => [event.id]);
  return { request, transactionId: id, requestHash: requestHash(request), committedAtUtc, events };
}

/** All records that the commit may read or write. A store may skip the read of a record that must be new. */
export function commitKeys(plan: CommitPlan): TransactRequest {
  const { request, events } = plan;
  const gate = commitKey(request.idempotencyKey);
  const keys: KeyRequest[] = [{ key: gate }];
  for (const m of request.mutations) {
    keys.push({ key: documentKey(m.documentType, m.id), expectAbsent: m.precondition.mustNotExist });
  }
  for (const f of request.fences) keys.push({ key: fenceKey(f.name, f.value) });
  for (const { event } of events) keys.push({ key: eventKey(event.id), expectAbsent: true });
  return { gate, keys };
}

/**
 * The commit rule: documents, fences, outbox events and receipt, all or nothing (specification, part A).
 *
 * Throws `idempotency_conflict`, `precondition_failed`, `document_missing`, `fence_conflict`, `fence_not_owned` or
 * `outbox_event_exists`; it then writes nothing, and the key stays free.
 */
export function decideCommit(made: CommitPlan, found: LoadedRecords): Decision<CommitOutcome> {
  const receipt = found.get(commitKey(made.request.idempotencyKey));
  if (receipt !== undefined) {
    checkReceipt(receipt, made);
    return { writes: [], result: { answeredFromReceipt: true } };
  }
  const plan = afterLast(made, found);
  const documents = decideDocuments(plan, found);
  const fences = decideFences(plan, found);
  const events = decideEvents(plan, found);
  const outbox = plan.events.map(({ event, body }) => wireEvent(plan.request.tenantId, event, body));
  const result = transactionResult(plan, documents, outbox);
  const writes: Write[] = [
    {
      put: receiptRecord({
        result,
        requestHash: plan.requestHash,
        documentTexts: documents.map(documentText),
        payloadTexts: plan.request.outbox.map(({ payloadText }) => payloadText),
      }),
    },
    ...documents.map(({ record }) => ({ put: record })),
    ...fences,
    ...events,
  ];
  const grows = !onlyRemoves(plan.request) && 'request';
  return { writes, result: { answeredFromReceipt: false, result }, grows };
}

/** Keeps the times of each document ascending: after the clock was set back, the commit takes the latest time of its documents. */
function afterLast(plan: CommitPlan, found: LoadedRecords): CommitPlan {
  let committedAtUtc = plan.committedAtUtc;
  for (const { documentType, id } of plan.request.mutations) {
    const updatedAt = found.get(documentKey(documentType, id))?.head.updatedAtUtc;
    if (typeof updatedAt === 'string') committedAtUtc = laterUtc(updatedAt, committedAtUtc);
  }
  if (committedAtUtc === plan.committedAtUtc) return plan;
  const events = plan.events.map(({ event, body }) => ({
    event: { ...event, createdAtUtc: committedAtUtc },
    body,
  }));
  return { ...plan, committedAtUtc, events };
}

/** Whether the commit only removes. It may exceed the quota of the tenant, because it must store a receipt and a revision. */
function onlyRemoves({ mutations, fences, outbox }: CommitPlan['request']): boolean {
  const removes = mutations.every(({ operation }) => operation === 'delete');
  return removes && outbox.length === 0 && fences.every(({ operation }) => operation === 'release');
}

function checkReceipt(receipt: RecordData, plan: CommitPlan): void {
  if (receipt.head.idempotencyKey !== plan.request.idempotencyKey) {
    throw new StoreError('corrupt', 'a receipt record does not hold the receipt that its id names');
  }
  if (receipt.head.requestHash !== plan.requestHash) {
    throw new ServiceError('idempotency_conflict', 'The idempotency key was used for another request', {
      errors: [{ pointer: '/idempotencyKey', detail: 'was used for another request' }],
    });
  }
}

function decideDocuments(plan: CommitPlan, found: LoadedRecords): WrittenDocument[] {
  const { mutations, tenantId } = plan.request;
  return mutations.map((mutation, n) => {
    const current = documentState(found.get(documentKey(mutation.documentType, mutation.id)), mutation);
    checkMutation(current, mutation, `/mutations/${n}`);
    return applyMutation(tenantId, current, mutation, plan.committedAtUtc);
  });
}

function decideFences(plan: CommitPlan, found: LoadedRecords): Write[] {
  return plan.request.fences.flatMap((fence, n) => {
    const record = found.get(fenceKey(fence.name, fence.value));
    const write = applyFence(record, fence, `/fences/${n}`, plan.committedAtUtc);
    return write === null ? [] : [write];
  });
}

function decideEvents(plan: CommitPlan, found: LoadedRecords): Write[] {
  return plan.events.map(({ event, body }, n) => {
    if (found.get(eventKey(event.id)) !== undefined) {
      throw new ServiceError('outbox_event_exists', 'An outbox event of this id exists in the tenant', {
        errors: [{ pointer: `/outbox/${n}/id`, detail: 'is the id of an event that exists' }],
      });
    }
    return { put: eventRecord(event, body) };
  });
}

function transactionResult(
  plan: CommitPlan,
  documents: readonly WrittenDocument[],
  outbox: readonly CanonicalOutboxEvent[],
): CanonicalTransactionResult {
  const { tenantId, idempotencyKey, correlationId, actor } = plan.request;
  return {
    transactionId: plan.transactionId,
    tenantId,
    idempotencyKey,
    correlationId,
    actor,
    replayed: false,
    committedAtUtc: plan.committedAtUtc,
    documents: documents.map(({ document }) => document),
    outbox: [...outbox],
  };
}
