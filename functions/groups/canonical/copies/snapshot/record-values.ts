import type {
  CanonicalDocument,
  CanonicalDocumentRevision,
  CanonicalOutboxEvent,
} from '../../../../../contracts/generated/models.ts';
import { moment } from '../../../../archives/checks.ts';
import { CanonicalText, canonicalJson } from '../../../../kernel/canonical-json.ts';
import { invalidMember } from '../../../../kernel/errors.ts';
import { mappedInSteps } from '../../../../kernel/sorted-in-steps.ts';
import type { RecordData, RecordKey } from '../../../../store/port.ts';
import { uncounted } from '../../../../store/stored-size.ts';
import { receiptRecord, replayResult } from '../../commit/receipt.ts';
import { readDocument } from '../../document/document.ts';
import { type EventState, eventBody, eventRecord, readEvent, wireEvent } from '../../outbox/outbox-event.ts';
import { settle } from '../../outbox/outbox-rules.ts';
import {
  COMMITS,
  commitKey,
  DOCUMENTS,
  documentKey,
  EVENTS,
  eventKey,
  FENCES,
  fenceKey,
} from '../../records.ts';
import { canonicalText } from './canonical-text.ts';
import {
  checkedDocument,
  checkedEvent,
  checkedFence,
  checkedReceipt,
  type FenceValue,
  type ReceiptValue,
} from './values.ts';

/** An event with the time of its commit, which orders events and which the wire form does not have. */
export type EventValue = CanonicalOutboxEvent & { readonly createdAtUtc: string };

/** A record in its wire form, with its collection. */
export type SnapshotValue =
  | { readonly collection: 'commits'; readonly value: ReceiptValue }
  | { readonly collection: 'documents'; readonly value: CanonicalDocument }
  | { readonly collection: 'events'; readonly value: EventValue }
  | { readonly collection: 'fences'; readonly value: FenceValue };

/** The snapshot value of a whole record at `nowUtc`; `undefined` for a collection that does not belong to tenants. */
export function valueOf(tenantId: string, record: RecordData, nowUtc: string): SnapshotValue | undefined {
  const { head, key } = record;
  switch (key.collection) {
    case COMMITS.name:
      return { collection: 'commits', value: receiptValue(tenantId, record) };
    case DOCUMENTS.name:
      return { collection: 'documents', value: readDocument(tenantId, record) };
    case EVENTS.name:
      return { collection: 'events', value: eventValue(tenantId, record, nowUtc) };
    case FENCES.name:
      return { collection: 'fences', value: { tenantId, ...uncounted(head) } as unknown as FenceValue };
    default:
      return undefined;
  }
}

/**
 * A lease belongs to the running service and not to the content. After a restore the event can be leased again, and its delivery
 * stays counted. The wire form has no tokens, so a snapshot loses them, also those of delivered events.
 */
function eventValue(tenantId: string, record: RecordData, nowUtc: string): EventValue {
  const event = settle(readEvent(record), nowUtc);
  const shown = wireEvent(tenantId, event, record.body ?? '');
  return { ...shown, leaseOwner: null, leaseExpiresAtUtc: null, createdAtUtc: event.createdAtUtc };
}

function receiptValue(tenantId: string, record: RecordData): ReceiptValue {
  const result = { ...replayResult(tenantId, record), replayed: false };
  return {
    transactionId: result.transactionId,
    tenantId,
    idempotencyKey: result.idempotencyKey,
    requestHash: String(record.head.requestHash),
    result,
    committedAtUtc: result.committedAtUtc,
  };
}

/** Reads the value of a record of `collection` and checks it whole. Throws a `ServiceError` that names the place. */
export function checkedValue(
  tenantId: string,
  collection: string,
  value: unknown,
  pointer: string,
): SnapshotValue {
  switch (collection) {
    case 'commits':
      return { collection, value: checkedReceipt(tenantId, value, pointer) };
    case 'documents':
      return { collection, value: checkedDocument(tenantId, value, pointer) };
    case 'events':
      return { collection, value: checkedEventValue(tenantId, value, pointer) };
    case 'fences':
      return { collection, value: checkedFence(tenantId, value, pointer) };
    default:
      throw invalidMember('/collection', 'names no collection of a tenant');
  }
}

function checkedEventValue(tenantId: string, value: unknown, pointer: string): EventValue {
  const { createdAtUtc, ...event } = { ...(value as Partial<EventValue> | null) };
  const checked = checkedEvent(tenantId, event, pointer);
  return { ...checked, createdAtUtc: moment(createdAtUtc, `${pointer}/createdAtUtc`) };
}

export function keyOf({ collection, value }: SnapshotValue): RecordKey {
  switch (collection) {
    case 'commits':
      return commitKey(value.idempotencyKey);
    case 'documents':
      return documentKey(value.documentType, value.id);
    case 'events':
      return eventKey(value.id);
    default:
      return fenceKey(value.name, value.value);
  }
}

/** The record of a snapshot value: the stored form, without any lease of an event. */
export function recordOf(entry: SnapshotValue): RecordData {
  switch (entry.collection) {
    case 'commits':
      return receiptRecord({
        result: entry.value.result,
        requestHash: entry.value.requestHash,
        documentTexts: entry.value.result.documents.map(documentText),
        payloadTexts: entry.value.result.outbox.map(({ payload }) => canonicalText(payload)),
      });
    case 'documents':
      return documentRecord(entry.value);
    case 'events':
      return { ...eventRecord(eventState(entry.value), bodyOf(entry.value)), parts: [] };
    default: {
      const { tenantId: _, ...head } = entry.value;
      return { key: keyOf(entry), head, body: null, listing: null, due: null, parts: [] };
    }
  }
}

function documentText(document: CanonicalDocument): string {
  return canonicalJson(withText(document));
}

/** The document with its data as text, so that unchanged data is not written again. */
function withText(document: CanonicalDocument): object {
  return { ...document, data: new CanonicalText(canonicalText(document.data)) };
}

function eventWithText(event: CanonicalOutboxEvent): object {
  return { ...event, payload: new CanonicalText(canonicalText(event.payload)) };
}

/** The value as canonical JSON, with one step for each document and event of a receipt. */
export function* valueText({ collection, value }: SnapshotValue): Generator<void, string> {
  if (collection === 'documents') return documentText(value);
  if (collection === 'events') return canonicalJson(eventWithText(value));
  if (collection === 'fences') return canonicalJson(value);
  const { result } = value;
  const documents = yield* mappedInSteps(result.documents, withText, 1);
  const outbox = yield* mappedInSteps(result.outbox, eventWithText, 1);
  return canonicalJson({ ...value, result: { ...result, documents, outbox } });
}

function documentRecord(document: CanonicalDocument): RecordData {
  const { documentType, id, schemaVersion, revision, deleted, createdAtUtc, updatedAtUtc } = document;
  return {
    key: documentKey(documentType, id),
    head: { documentType, id, schemaVersion, revision, deleted, createdAtUtc, updatedAtUtc },
    body: document.data === null ? null : canonicalText(document.data),
    listing: { group: documentType, id, hidden: deleted, indexes: document.indexes },
    due: null,
    parts: [],
  };
}

function bodyOf({ payload, headers }: CanonicalOutboxEvent): string {
  return eventBody(canonicalText(payload), headers);
}

function eventState(event: EventValue): EventState {
  const { tenantId: _, payload: __, headers: ___, ...kept } = event;
  const parked = event.deadLetteredAtUtc === null ? 'open' : 'dead-letter';
  return { ...kept, state: event.deliveredAtUtc === null ? parked : 'delivered', leaseTokenHash: null };
}

/** The revisions in a receipt in their wire form, with the documents of its result. */
export function revisionsOf({ result }: ReceiptValue): CanonicalDocumentRevision[] {
  const { transactionId, committedAtUtc } = result;
  return result.documents.map((document) => {
    const { tenantId, documentType, id, revision } = document;
    const operation = document.deleted ? 'delete' : 'upsert';
    const recordedAtUtc = committedAtUtc;
    return { tenantId, documentType, id, revision, transactionId, operation, document, recordedAtUtc };
  });
}
