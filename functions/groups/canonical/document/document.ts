import type { CanonicalDocument } from '../../../../contracts/generated/models.ts';
import { CanonicalText, canonicalJson, type JsonObject } from '../../../kernel/canonical-json.ts';
import { ServiceError } from '../../../kernel/errors.ts';
import { parseJson } from '../../../kernel/json-text.ts';
import { type RecordData, StoreError } from '../../../store/port.ts';
import type { Mutation, Precondition } from '../commit/mutation-request.ts';
import { documentKey } from '../records.ts';

/** The facts that a write needs of the existing document: everything but its content. */
export interface DocumentState {
  readonly revision: number;
  readonly deleted: boolean;
  readonly schemaVersion: string;
  readonly createdAtUtc: string;
}

/** A document as a mutation leaves it. */
export interface WrittenDocument {
  readonly document: CanonicalDocument;
  readonly record: RecordData;
}

/** Reads the state of the document that `mutation` names out of its record. */
export function documentState(
  record: RecordData | undefined,
  name: { readonly documentType: string; readonly id: string },
): DocumentState | undefined {
  if (record === undefined) return undefined;
  const { head } = record;
  // Record ids are hashes: a record of another name would mean that two names share one, which must never pass unseen.
  if (head.documentType !== name.documentType || head.id !== name.id) {
    throw new StoreError('corrupt', 'a document record does not hold the document that its id names');
  }
  return {
    revision: Number(head.revision),
    deleted: head.deleted === true,
    schemaVersion: String(head.schemaVersion),
    createdAtUtc: String(head.createdAtUtc),
  };
}

/**
 * Checks the precondition and the requirements of the operation itself. A tombstone exists: its revision line continues,
 * and a writer that believes the id to be new is refused.
 *
 * Throws `precondition_failed` or `document_missing`.
 */
export function checkMutation(current: DocumentState | undefined, mutation: Mutation, pointer: string): void {
  const unmet = unmetPrecondition(current, mutation.precondition);
  if (unmet !== null) {
    throw new ServiceError('precondition_failed', `Precondition failed: ${unmet}`, {
      errors: [{ pointer: `${pointer}/precondition`, detail: unmet }],
      currentRevision: current?.revision ?? null,
    });
  }
  if (mutation.operation === 'delete' && (current === undefined || current.deleted)) {
    const detail = current === undefined ? 'the document does not exist' : 'the document is deleted already';
    throw new ServiceError('document_missing', `The delete names no live document: ${detail}`, {
      errors: [{ pointer, detail }],
      currentRevision: current?.revision ?? null,
    });
  }
}

function unmetPrecondition(current: DocumentState | undefined, precondition: Precondition): string | null {
  if (precondition.mustNotExist && current !== undefined) {
    return current.deleted ? 'the document exists as a tombstone' : 'the document exists';
  }
  const needsDocument = precondition.mustExist || precondition.expectedRevision !== null;
  if (needsDocument && current === undefined) return 'the document does not exist';
  if (precondition.expectedRevision !== null && precondition.expectedRevision !== current?.revision) {
    return 'the document has another revision';
  }
  return null;
}

/** The next revision of the document. Numbering never restarts, and the day of creation survives deletion. */
export function applyMutation(
  tenantId: string,
  current: DocumentState | undefined,
  mutation: Mutation,
  nowUtc: string,
): WrittenDocument {
  const upsert = mutation.operation === 'upsert' ? mutation : null;
  const revision = (current?.revision ?? 0) + 1;
  const document: CanonicalDocument = {
    tenantId,
    documentType: mutation.documentType,
    id: mutation.id,
    schemaVersion: upsert?.schemaVersion ?? current?.schemaVersion ?? '',
    // In the order that is stored, so that a replay repeats the first answer to the letter.
    data: upsert === null ? null : (parseJson(upsert.dataText) as JsonObject),
    indexes: upsert?.indexes ?? {},
    revision,
    etag: etagOf(revision),
    deleted: upsert === null,
    createdAtUtc: current?.createdAtUtc ?? nowUtc,
    updatedAtUtc: nowUtc,
  };
  const { documentType, id, schemaVersion, deleted, createdAtUtc, updatedAtUtc } = document;
  return {
    document,
    record: {
      key: documentKey(documentType, id),
      head: { documentType, id, schemaVersion, revision, deleted, createdAtUtc, updatedAtUtc },
      body: upsert?.dataText ?? null,
      listing: { group: documentType, id, hidden: deleted, indexes: document.indexes },
    },
  };
}

/** The document as canonical text, its data taken over from the text that was made when the request was read. */
export function documentText(written: WrittenDocument): string {
  const data = new CanonicalText(written.record.body ?? 'null');
  return canonicalJson({ ...written.document, data });
}

/** A document record as the wire shows it. The record was read with its body. */
export function readDocument(tenantId: string, record: RecordData): CanonicalDocument {
  const { head } = record;
  return {
    tenantId,
    documentType: String(head.documentType),
    id: String(head.id),
    schemaVersion: String(head.schemaVersion),
    data: record.body === null || record.body === undefined ? null : (parseJson(record.body) as JsonObject),
    indexes: record.listing?.indexes ?? {},
    revision: Number(head.revision),
    etag: etagOf(Number(head.revision)),
    deleted: head.deleted === true,
    createdAtUtc: String(head.createdAtUtc),
    updatedAtUtc: String(head.updatedAtUtc),
  };
}

/** The same as the text that goes over the wire: the stored text of the data is neither parsed nor written again. */
export function documentJson(tenantId: string, record: RecordData): string {
  const { data: _, ...shown } = readDocument(tenantId, { ...record, body: null });
  const { tenantId: tenant, documentType, id, schemaVersion, ...rest } = shown;
  const before = JSON.stringify({ tenantId: tenant, documentType, id, schemaVersion });
  return `${before.slice(0, -1)},"data":${record.body ?? 'null'},${JSON.stringify(rest).slice(1)}`;
}

/** The document with its members in the order of the contract, in which all answers show them. */
export function inWireOrder(document: CanonicalDocument): CanonicalDocument {
  const { tenantId, documentType, id, schemaVersion, data, indexes } = document;
  const { revision, etag, deleted, createdAtUtc, updatedAtUtc } = document;
  return {
    tenantId,
    documentType,
    id,
    schemaVersion,
    data,
    indexes,
    revision,
    etag,
    deleted,
    createdAtUtc,
    updatedAtUtc,
  };
}

function etagOf(revision: number): string {
  return `rev:${revision}`;
}
