import { ServiceError } from '../../kernel/errors.ts';
import { formatUtc, laterUtc } from '../../kernel/timestamp.ts';

/** The condition of a record write, from the headers of one record or from an item of a batch. */
export interface WritePrecondition {
  readonly ifMatch?: string | null;
  readonly ifNoneMatch?: string | null;
  readonly expectedEtag?: string | null;
  readonly expectedRevision?: number | null;
}

/** What the service assigns to a record. Values of these members in a request are ignored, save `createdAt`. */
export interface RecordStamp {
  readonly revision: number;
  readonly etag: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export type StoredStamp = Pick<RecordStamp, 'revision' | 'createdAt' | 'updatedAt'>;

/** The etag of a revision. */
export function etagOf(revision: number): string {
  return `rev:${revision}`;
}

/**
 * Decides an upsert from the stored record (`null`: there is none) in the transaction that writes it. `createdAt` is the
 * moment that the request names, in milliseconds; a stored one wins. Throws `precondition_failed`.
 */
export function decideUpsert(
  stored: StoredStamp | null,
  precondition: WritePrecondition | null,
  createdAt: number | null,
  now: number,
): RecordStamp {
  if (precondition !== null) checkPrecondition(stored?.revision ?? null, precondition);
  const revision = (stored?.revision ?? 0) + 1;
  return {
    revision,
    etag: etagOf(revision),
    createdAt: stored?.createdAt ?? formatUtc(createdAt ?? now),
    updatedAt: laterUtc(stored?.updatedAt, formatUtc(now)),
  };
}

/** Throws `precondition_failed` unless a record at `revision` (`null`: no record) meets all members of the condition. */
export function checkPrecondition(revision: number | null, precondition: WritePrecondition): void {
  const ifMatch = bareEtag(precondition.ifMatch);
  const ifNoneMatch = bareEtag(precondition.ifNoneMatch);
  const expectedEtag = bareEtag(precondition.expectedEtag);
  const expectedRevision = precondition.expectedRevision ?? null;
  const current = revision === null ? null : etagOf(revision);

  if (ifMatch !== null && ifNoneMatch !== null) throw failed('ifMatch and ifNoneMatch exclude each other');
  if (ifMatch !== null && expectedEtag !== null && ifMatch !== expectedEtag) {
    throw failed('ifMatch and expectedEtag differ');
  }
  const wanted = ifMatch ?? expectedEtag;
  if (wanted === '*' ? current === null : wanted !== null && wanted !== current) {
    throw failed('the current etag does not match');
  }
  if (expectedRevision !== null && expectedRevision !== revision) {
    throw failed('the current revision does not match');
  }
  if (ifNoneMatch === '*' ? current !== null : ifNoneMatch !== null && ifNoneMatch === current) {
    throw failed('the record exists');
  }
}

/** Without surrounding white space and one pair of quotes. A blank etag stays blank: no record ever has it. */
function bareEtag(text: string | null | undefined): string | null {
  if (text === null || text === undefined) return null;
  const trimmed = text.trim();
  const quoted = trimmed.length > 1 && trimmed.startsWith('"') && trimmed.endsWith('"');
  return quoted ? trimmed.slice(1, -1) : trimmed;
}

function failed(reason: string): ServiceError {
  return new ServiceError('precondition_failed', `The write precondition failed: ${reason}.`);
}
