import type {
  CanonicalOutboxEvent,
  CanonicalTransactionResult,
} from '../../../../contracts/generated/models.ts';
import { canonicalJson, type Json } from '../../../kernel/canonical-json.ts';
import { parseJson } from '../../../kernel/json-text.ts';
import { type Part, type RecordData, StoreError } from '../../../store/port.ts';
import { readRevision, revisionOrder, revisionText } from '../document/revision.ts';
import { eventInWireOrder } from '../outbox/outbox-event.ts';
import { commitKey, documentKey, eventKey } from '../records.ts';

/**
 * The body of a receipt: the order of the documents, and the events as written. Revisions are parts of the record, and so are large
 * payloads, because every database limits the size of a body.
 */
interface ReceiptBody {
  readonly documents: readonly string[];
  readonly outbox: readonly CanonicalOutboxEvent[];
  readonly payloadsFiled: boolean;
}

/** Payloads of up to this many characters together are stored in the body. */
const PAYLOADS_INLINE_MAX = 256 * 1024;

export interface ReceiptContent {
  /** The first answer. */
  readonly result: CanonicalTransactionResult;
  readonly requestHash: string;
  /** The canonical text of each document of the result. */
  readonly documentTexts: readonly string[];
  /** The canonical text of the payload of each event of the result. */
  readonly payloadTexts: readonly string[];
}

/** The receipt of a commit as a record, with the revisions that the commit wrote. */
export function receiptRecord(content: ReceiptContent): RecordData {
  const { result, requestHash, documentTexts, payloadTexts } = content;
  const { idempotencyKey, transactionId, correlationId, actor, committedAtUtc, documents, outbox } = result;
  const payloadsFiled = payloadTexts.reduce((sum, text) => sum + text.length, 0) > PAYLOADS_INLINE_MAX;
  const ids = documents.map(({ documentType, id }) => documentKey(documentType, id).id);
  const body: ReceiptBody = {
    documents: ids,
    outbox: payloadsFiled ? outbox.map((event) => ({ ...event, payload: null })) : outbox,
    payloadsFiled,
  };
  const revisions = documents.map(
    ({ deleted, revision }, n): Part => ({
      of: ids[n] ?? '',
      order: revisionOrder(revision),
      body: revisionText(documentTexts[n] ?? '', deleted, transactionId, committedAtUtc),
    }),
  );
  // An expired event frees its id, and another receipt may store a payload under it.
  const key = commitKey(idempotencyKey);
  const payloads = (payloadsFiled ? payloadTexts : []).map(
    (text, n): Part => ({ of: eventPartId(outbox[n]), order: key.id, body: text }),
  );
  return {
    key,
    head: { idempotencyKey, transactionId, requestHash, correlationId, actor, committedAtUtc },
    body: canonicalJson(body),
    listing: null,
    parts: [...revisions, ...payloads],
  };
}

/** The stored result of the receipt, with `replayed` set. The caller has read the record with its parts. */
export function replayResult(tenantId: string, receipt: RecordData): CanonicalTransactionResult {
  const { head } = receipt;
  const { documents, outbox, payloadsFiled } = parseJson(receipt.body ?? '') as ReceiptBody;
  const parts = new Map((receipt.parts ?? []).map((part) => [part.of, part.body]));
  const partOf = (id: string): string => {
    const body = parts.get(id);
    if (body === undefined) throw new StoreError('corrupt', 'a receipt lacks what was filed with it');
    return body;
  };
  const payloadOf = (event: CanonicalOutboxEvent): Json =>
    payloadsFiled ? (parseJson(partOf(eventPartId(event))) as Json) : event.payload;
  return {
    transactionId: String(head.transactionId),
    tenantId,
    idempotencyKey: String(head.idempotencyKey),
    correlationId: head.correlationId === null ? null : String(head.correlationId),
    actor: head.actor === null ? null : String(head.actor),
    replayed: true,
    committedAtUtc: String(head.committedAtUtc),
    documents: documents.map((id) => readRevision(partOf(id)).document),
    outbox: outbox.map((event) => eventInWireOrder({ ...event, payload: payloadOf(event) })),
  };
}

function eventPartId(event: CanonicalOutboxEvent | undefined): string {
  return eventKey(event?.id ?? '').id;
}
