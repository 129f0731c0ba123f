import type { CanonicalDocument } from '../../../../contracts/generated/models.ts';
import { CanonicalText, canonicalJson, type JsonObject } from '../../../kernel/canonical-json.ts';
import { ServiceError } from '../../../kernel/errors.ts';
import { parseJson } from '../../../kernel/json-text.ts';
import { type RecordData, StoreError } from '../../../store/port.ts';
import type { Mutation, Precondition } from '../commit/mutation-request.ts';
import { documentKey } from '../records.ts';

/** The members of an existing document that a write needs: all but its content. */
export interface DocumentState {
  readonly revision: number;
  readonly deleted: boolean;
  readonly schemaVersion: string;
  readonly createdAtUtc: string;
}

/** A document after a mutation. */
export interface WrittenDocument {
  readonly document: CanonicalDocument;
  readonly record: RecordData;
}

/** Reads the state of the document that `mutation` names from its record. */
export function documentState(
  record: RecordData | undefined,
  name: { readonly documentType: string; readonly id: string },
): DocumentState | undefined {
  if (record === undefined) return undefined;
  const { head } = record;
  // Record ids are hashes. A record of another name would be a collision of two hashes, which must cause an error.
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
 * Checks the precondition and the requirements of the operation. A tombstone counts as an existing document: its revisions continue,
 * and a mutation with `mustNotExist` is refused.
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

/** The next revision of the document. A delete restarts neither the revision numbers nor the time of creation. */
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
    // Use the stored order of members, so that a replay returns the same bytes as the first answer.
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

/** The document as canonical text. The data is the text that the reader of the request has made. */
export function documentText(written: WrittenDocument): string {
  const data = new CanonicalText(written.record.body ?? 'null');
  return canonicalJson({ ...written.document, data });
}

/** The wire form of a document record that was read with its body. */
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

/** The wire form as JSON text. The stored text of the data is copied without parsing. */
export function documentJson(tenantId: string, record: RecordData): string {
  const { data: _, ...shown } = readDocument(tenantId, { ...record, body: null });
  const { tenantId: tenant, documentType, id, schemaVersion, ...rest } = shown;
  const before = JSON.stringify({ tenantId: tenant, documentType, id, schemaVersion });
  return `${before.slice(0, -1)},"data":${record.body ?? 'null'},${JSON.stringify(rest).slice(1)}`;
}

/** The document with its members in the order of the contract, as in all answers. */
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
