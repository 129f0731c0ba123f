import { ServiceError } from '../../kernel/errors.ts';

/** The fields `If-Match` and `If-None-Match` of a request; an absent one asks for nothing. */
export interface ObjectCondition {
  readonly ifMatch?: string | null;
  readonly ifNoneMatch?: string | null;
}

/**
 * Throws `precondition_failed` unless an object with the content hash `etag` (`null`: no object) meets the condition, as RFC
 * 9110 section 13.1 says: `*` is any object, a list of tags is one of them. Tags may lack their quotes, because the contract
 * shows etags without. A blank field is a condition that no tag meets.
 */
export function checkCondition(etag: string | null, { ifMatch, ifNoneMatch }: ObjectCondition): void {
  if (isGiven(ifMatch) && !isMatch(ifMatch, etag, isStrong)) {
    throw failed(etag === null ? 'there is no such object' : 'the current etag does not match');
  }
  if (isGiven(ifNoneMatch) && isMatch(ifNoneMatch, etag, () => true)) throw failed('the object exists');
}

function isGiven(field: string | null | undefined): field is string {
  return field !== undefined && field !== null;
}

function isMatch(field: string, etag: string | null, counts: (tag: string) => boolean): boolean {
  if (etag === null) return false;
  if (field.trim() === '*') return true;
  return field.split(',').some((tag) => counts(tag.trim()) && opaqueTag(tag.trim()) === etag);
}

/** A weak tag never matches in `If-Match`. */
function isStrong(tag: string): boolean {
  return !tag.startsWith('W/');
}

function opaqueTag(tag: string): string {
  const text = tag.startsWith('W/') ? tag.slice(2) : tag;
  return text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
}

function failed(reason: string): ServiceError {
  return new ServiceError('precondition_failed', `The write precondition failed: ${reason}.`);
}
