import { limits } from '../../../../../contracts/generated/limits.ts';
import type {
  CanonicalDocument,
  CanonicalOutboxEvent,
  CanonicalTransactionResult,
} from '../../../../../contracts/generated/models.ts';
import {
  count,
  flag,
  hashText,
  list,
  type Members,
  members,
  moment,
  name,
  nullOr,
  pathName,
  same,
  text,
  textMap,
} from '../../../../archives/checks.ts';
import type { Json } from '../../../../kernel/canonical-json.ts';
import { invalidMember, pointerTo, ServiceError } from '../../../../kernel/errors.ts';
import { checkProse, checkText } from '../../../../kernel/identifiers.ts';
import { boundedText } from '../../bounded-text.ts';
import { refuseRepeats, transactionId } from '../../commit/commit-request.ts';
import { inWireOrder } from '../../document/document.ts';
import { indexValues } from '../../document/index-text.ts';
import { eventInWireOrder } from '../../outbox/outbox-event.ts';
import { bytesAtMost, canonicalText } from './canonical-text.ts';

/** A fence in its wire form. */
export interface FenceValue {
  readonly tenantId: string;
  readonly name: string;
  readonly value: string;
  readonly ownerDocumentType: string;
  readonly ownerDocumentId: string;
  readonly createdAtUtc: string;
  readonly updatedAtUtc: string;
}

/** A receipt in its wire form. Its result holds the revisions that the commit wrote. */
export interface ReceiptValue {
  readonly transactionId: string;
  readonly tenantId: string;
  readonly idempotencyKey: string;
  readonly requestHash: string;
  readonly result: CanonicalTransactionResult;
  readonly committedAtUtc: string;
}

const DOCUMENT = [
  'tenantId',
  'documentType',
  'id',
  'schemaVersion',
  'data',
  'indexes',
  'revision',
  'etag',
  'deleted',
  'createdAtUtc',
  'updatedAtUtc',
] as const;
const FENCE = [
  'tenantId',
  'name',
  'value',
  'ownerDocumentType',
  'ownerDocumentId',
  'createdAtUtc',
  'updatedAtUtc',
] as const;
const EVENT = [
  'id',
  'tenantId',
  'transactionId',
  'topic',
  'key',
  'payload',
  'headers',
  'notBeforeUtc',
  'deliveryCount',
  'deliveredAtUtc',
  'leaseOwner',
  'leaseExpiresAtUtc',
  'maxDeliveryAttempts',
  'deadLetteredAtUtc',
  'lastError',
] as const;
const RECEIPT = [
  'transactionId',
  'tenantId',
  'idempotencyKey',
  'requestHash',
  'result',
  'committedAtUtc',
] as const;
const RESULT = [
  'transactionId',
  'tenantId',
  'idempotencyKey',
  'correlationId',
  'actor',
  'replayed',
  'committedAtUtc',
  'documents',
  'outbox',
] as const;

/** Larger than any real count, and small enough that increments of a restored value stay exact. */
const COUNT_MAX = 2 ** 52;

export function sameTenant(value: unknown, tenantId: string, pointer: string): void {
  if (value !== tenantId)
    throw invalidMember(pointer, 'must be the tenant of the snapshot', 'tenant_mismatch');
}

/** Checks a document of the tenant, and returns it with its members in the order of the contract. */
export function checkedDocument(tenantId: string, value: unknown, pointer: string): CanonicalDocument {
  const given = members(value, DOCUMENT, pointer);
  const at = (member: (typeof DOCUMENT)[number]) => `${pointer}/${member}`;
  sameTenant(given.tenantId, tenantId, at('tenantId'));
  name(given.documentType, at('documentType'));
  name(given.id, at('id'));
  name(given.schemaVersion, at('schemaVersion'));
  const revision = count(given.revision, 1, COUNT_MAX, at('revision'));
  same(given.etag, `rev:${revision}`, 'rev: and the revision', at('etag'));
  const deleted = flag(given.deleted, at('deleted'));
  const indexes = indexValues(
    textMap(given.indexes, at('indexes')),
    limits.indexesPerDocumentMax,
    at('indexes'),
  );
  if (deleted && Object.keys(indexes).length > 0) throw invalidMember(at('indexes'), 'a tombstone has none');
  checkData(given.data, deleted, at('data'));
  moment(given.createdAtUtc, at('createdAtUtc'));
  moment(given.updatedAtUtc, at('updatedAtUtc'));
  return { ...inWireOrder(given as unknown as CanonicalDocument), indexes };
}

function checkData(data: unknown, deleted: boolean, pointer: string): void {
  if (deleted) return same(data, null, 'null in a tombstone', pointer);
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw invalidMember(pointer, 'must be an object');
  }
  checkSize(data as Json, limits.documentDataBytesMax, pointer);
}

function checkSize(value: Json, bytesMax: number, pointer: string): void {
  if (bytesAtMost(value) > bytesMax) boundedText(value, bytesMax, pointer);
}

export function checkedFence(tenantId: string, value: unknown, pointer: string): FenceValue {
  const given = members(value, FENCE, pointer);
  sameTenant(given.tenantId, tenantId, `${pointer}/tenantId`);
  return {
    tenantId,
    name: name(given.name, `${pointer}/name`),
    value: name(given.value, `${pointer}/value`),
    ownerDocumentType: name(given.ownerDocumentType, `${pointer}/ownerDocumentType`),
    ownerDocumentId: name(given.ownerDocumentId, `${pointer}/ownerDocumentId`),
    createdAtUtc: moment(given.createdAtUtc, `${pointer}/createdAtUtc`),
    updatedAtUtc: moment(given.updatedAtUtc, `${pointer}/updatedAtUtc`),
  };
}

/** Checks an event without a lease. A snapshot holds no leases, so earlier tokens are invalid after a restore. */
export function checkedEvent(tenantId: string, value: unknown, pointer: string): CanonicalOutboxEvent {
  const given = members(value, EVENT, pointer);
  const at = (member: (typeof EVENT)[number]) => `${pointer}/${member}`;
  sameTenant(given.tenantId, tenantId, at('tenantId'));
  pathName(given.id, at('id'));
  for (const member of ['transactionId', 'topic', 'key'] as const) name(given[member], at(member));
  checkSize(given.payload as Json, limits.outboxPayloadBytesMax, at('payload'));
  checkHeaders(given.headers, at('headers'));
  nullOr(moment, given.notBeforeUtc, at('notBeforeUtc'));
  const delivered = nullOr(moment, given.deliveredAtUtc, at('deliveredAtUtc'));
  const deadLettered = nullOr(moment, given.deadLetteredAtUtc, at('deadLetteredAtUtc'));
  if (delivered !== null && deadLettered !== null) {
    throw invalidMember(at('deadLetteredAtUtc'), 'must be null in a delivered event');
  }
  same(given.leaseOwner, null, 'null: a snapshot holds no leases', at('leaseOwner'));
  same(given.leaseExpiresAtUtc, null, 'null: a snapshot holds no leases', at('leaseExpiresAtUtc'));
  count(given.deliveryCount, 0, COUNT_MAX, at('deliveryCount'));
  if (given.maxDeliveryAttempts !== null) {
    count(given.maxDeliveryAttempts, 1, limits.maxDeliveryAttemptsMax, at('maxDeliveryAttempts'));
  }
  nullOr(errorText, given.lastError, at('lastError'));
  return eventInWireOrder(given as unknown as CanonicalOutboxEvent);
}

function checkHeaders(value: unknown, pointer: string): void {
  const headers = Object.entries(textMap(value, pointer));
  if (headers.length > limits.outboxHeadersMax) {
    throw invalidMember(pointer, `must hold at most ${limits.outboxHeadersMax} headers`, 'limit_exceeded');
  }
  for (const [header, content] of headers) {
    const member = pointerTo(pointer, header);
    name(header, member);
    checkText(content, member);
    if (content.trim() === '') throw invalidMember(member, 'must not be blank');
    checkLength(content, limits.outboxHeaderValueLengthMax, member);
  }
}

function errorText(value: unknown, pointer: string): string {
  const given = text(value, pointer);
  // Use the same rule as the report of the error, which permits line breaks.
  checkProse(given, pointer);
  checkLength(given, limits.outboxErrorLengthMax, pointer);
  return given;
}

function checkLength(value: string, most: number, pointer: string): void {
  if (value.length > most) {
    throw invalidMember(pointer, `must be at most ${most} characters`, 'limit_exceeded');
  }
}

export function checkedReceipt(tenantId: string, value: unknown, pointer: string): ReceiptValue {
  const given = members(value, RECEIPT, pointer);
  sameTenant(given.tenantId, tenantId, `${pointer}/tenantId`);
  const idempotencyKey = name(given.idempotencyKey, `${pointer}/idempotencyKey`);
  const named = { tenantId, idempotencyKey, correlationId: null, actor: null };
  const id = transactionId({ ...named, mutations: [], fences: [], outbox: [] });
  same(given.transactionId, id, 'the transaction of the idempotency key', `${pointer}/transactionId`);
  const requestHash = hashText(given.requestHash, `${pointer}/requestHash`);
  const committedAtUtc = moment(given.committedAtUtc, `${pointer}/committedAtUtc`);
  const receipt = { transactionId: id, tenantId, idempotencyKey, requestHash, committedAtUtc };
  return { ...receipt, result: checkedResult(receipt, given.result, `${pointer}/result`) };
}

function checkedResult(
  receipt: Omit<ReceiptValue, 'result'>,
  value: unknown,
  pointer: string,
): CanonicalTransactionResult {
  const given = members(value, RESULT, pointer);
  const { tenantId, idempotencyKey, committedAtUtc } = receipt;
  sameTenant(given.tenantId, tenantId, `${pointer}/tenantId`);
  for (const member of ['transactionId', 'idempotencyKey', 'committedAtUtc'] as const) {
    same(given[member], receipt[member], 'that of the receipt', `${pointer}/${member}`);
  }
  same(given.replayed, false, 'false in the first answer', `${pointer}/replayed`);
  const documents = checkedRevisions(receipt, given, `${pointer}/documents`);
  const outbox = checkedWrites(receipt, given, `${pointer}/outbox`);
  checkTotal(documents, outbox);
  return {
    transactionId: receipt.transactionId,
    tenantId,
    idempotencyKey,
    correlationId: nullOr(name, given.correlationId, `${pointer}/correlationId`),
    actor: nullOr(name, given.actor, `${pointer}/actor`),
    replayed: false,
    committedAtUtc,
    documents,
    outbox,
  };
}

function checkedRevisions(
  { tenantId, committedAtUtc }: Omit<ReceiptValue, 'result'>,
  result: Members,
  pointer: string,
): CanonicalDocument[] {
  const documents = list(result.documents, limits.mutationsPerCommitMax, pointer).map((value, n) => {
    const document = checkedDocument(tenantId, value, `${pointer}/${n}`);
    same(document.updatedAtUtc, committedAtUtc, 'the moment of the commit', `${pointer}/${n}/updatedAtUtc`);
    return document;
  });
  refuseRepeats(documents, pointer, 'document', ({ documentType, id }) => [documentType, id]);
  return documents;
}

/** The events as the commit wrote them. The event records hold their current state. */
function checkedWrites(
  receipt: Omit<ReceiptValue, 'result'>,
  result: Members,
  pointer: string,
): CanonicalOutboxEvent[] {
  const events = list(result.outbox, limits.outboxEventsPerCommitMax, pointer).map((value, n) => {
    const event = checkedEvent(receipt.tenantId, value, `${pointer}/${n}`);
    const at = `${pointer}/${n}`;
    same(event.transactionId, receipt.transactionId, 'that of the receipt', `${at}/transactionId`);
    same(event.deliveryCount, 0, '0 as written', `${at}/deliveryCount`);
    for (const member of ['deliveredAtUtc', 'deadLetteredAtUtc', 'lastError'] as const) {
      same(event[member], null, 'null as written', `${at}/${member}`);
    }
    return event;
  });
  refuseRepeats(events, pointer, 'event id', ({ id }) => [id]);
  return events;
}

/** Refuses a commit beyond the limit of a request, because stores rely on this limit. */
function checkTotal(documents: readonly CanonicalDocument[], outbox: readonly CanonicalOutboxEvent[]): void {
  const contents: Json[] = outbox.map(({ payload }) => payload);
  for (const { data } of documents) if (data !== null) contents.push(data);
  if (contents.reduce((sum: number, each) => sum + bytesAtMost(each), 0) <= limits.commitBytesMax) return;
  const bytes = contents.reduce((sum: number, each) => sum + Buffer.byteLength(canonicalText(each)), 0);
  if (bytes > limits.commitBytesMax) {
    throw new ServiceError(
      'commit_too_large',
      `the documents and payloads of one commit may hold ${limits.commitBytesMax} bytes together`,
    );
  }
}
