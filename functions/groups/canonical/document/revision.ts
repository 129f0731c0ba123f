import type { CanonicalDocument, CanonicalDocumentRevision } from '../../../../contracts/generated/models.ts';
import { CanonicalText, canonicalJson } from '../../../kernel/canonical-json.ts';
import { parseJson } from '../../../kernel/json-text.ts';
import { inWireOrder } from './document.ts';

/** A revision number as text of fixed width, so that texts sort like numbers. */
export function revisionOrder(revision: number): string {
  return String(revision).padStart(16, '0');
}

interface StoredRevision {
  readonly document: CanonicalDocument;
  readonly operation: 'upsert' | 'delete';
  readonly recordedAtUtc: string;
  readonly transactionId: string;
}

/** The text of an immutable revision, which is stored with the commit that wrote it. */
export function revisionText(
  documentText: string,
  deleted: boolean,
  transactionId: string,
  recordedAtUtc: string,
): string {
  return canonicalJson({
    document: new CanonicalText(documentText),
    operation: deleted ? 'delete' : 'upsert',
    recordedAtUtc,
    transactionId,
  });
}

export function readRevision(text: string): CanonicalDocumentRevision {
  const stored = parseJson(text) as StoredRevision;
  const { operation, recordedAtUtc, transactionId } = stored;
  const document = inWireOrder(stored.document);
  const { tenantId, documentType, id, revision } = document;
  return { tenantId, documentType, id, revision, transactionId, operation, document, recordedAtUtc };
}
