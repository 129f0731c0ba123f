import { type Conditions, judgeConditions } from '../../kernel/conditions.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { formatUtc, laterUtc } from '../../kernel/timestamp.ts';
import { etagOf, type RecordStamp, type StoredStamp } from './record-stamp.ts';

/** The condition of a record write, from the headers of one record or from an item of a batch. */
export interface WritePrecondition extends Conditions {
  readonly expectedEtag?: string | null;
  readonly expectedRevision?: number | null;
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

/**
 * Throws `precondition_failed` unless a record at `revision` (`null`: no record) meets all members of the condition. A write with
 * both `ifMatch` and `ifNoneMatch` fails, also if both hold.
 */
export function checkPrecondition(revision: number | null, precondition: WritePrecondition): void {
  const { ifMatch = null, ifNoneMatch = null, expectedEtag = null, expectedRevision = null } = precondition;
  if (ifMatch !== null && ifNoneMatch !== null) throw failed('ifMatch and ifNoneMatch exclude each other');
  if (ifMatch !== null && expectedEtag !== null && bareEtag(ifMatch) !== bareEtag(expectedEtag)) {
    throw failed('ifMatch and expectedEtag differ');
  }
  const current = revision === null ? null : etagOf(revision);
  const judgement = judgeConditions(current, { ifMatch: ifMatch ?? expectedEtag, ifNoneMatch });
  if (judgement === 'unmatched') throw failed('the current etag does not match');
  if (expectedRevision !== null && expectedRevision !== revision) {
    throw failed('the current revision does not match');
  }
  if (judgement === 'matched') throw failed('the record exists');
}

/** Without surrounding white space and one pair of quotes. */
function bareEtag(text: string): string {
  const trimmed = text.trim();
  const quoted = trimmed.length > 1 && trimmed.startsWith('"') && trimmed.endsWith('"');
  return quoted ? trimmed.slice(1, -1) : trimmed;
}

function failed(reason: string): ServiceError {
  return new ServiceError('precondition_failed', `The write precondition failed: ${reason}.`);
}
