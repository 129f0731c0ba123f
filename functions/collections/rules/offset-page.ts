import { invalidMember } from '../../kernel/errors.ts';

/** The part of an ordered answer that a page holds. `limit` is `null` for the whole rest. */
export interface PageRequest {
  readonly offset: number;
  readonly limit: number | null;
}

/** Reads `limit` and `continuationToken` of a query. Throws `validation_failed` or `continuation_token_invalid` below `pointer`. */
export function readPageRequest(
  limit: number | null | undefined,
  continuationToken: string | null | undefined,
  pointer = '',
): PageRequest {
  if (limit !== null && limit !== undefined && (!Number.isSafeInteger(limit) || limit < 1)) {
    throw invalidMember(`${pointer}/limit`, 'must be a whole number above 0');
  }
  return { offset: readOffset(continuationToken, `${pointer}/continuationToken`), limit: limit ?? null };
}

/** The offset as a decimal number, in base64. */
export function offsetToken(offset: number): string {
  return Buffer.from(String(offset)).toString('base64');
}

function readOffset(token: string | null | undefined, pointer: string): number {
  if (token === null || token === undefined) return 0;
  const offset = Number(Buffer.from(token, 'base64').toString('latin1'));
  // Accept one spelling only: a sign, a fraction, white space or other base64 gives another text.
  if (!Number.isSafeInteger(offset) || offset < 0 || offsetToken(offset) !== token) {
    throw invalidMember(pointer, 'is not a continuation token of a query', 'continuation_token_invalid');
  }
  return offset;
}
