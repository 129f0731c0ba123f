import { invalidMember } from '../../kernel/errors.ts';

/** The part of an ordered answer that a page holds. `limit` is `null` for the whole rest. */
export interface PageRequest {
  readonly offset: number;
  readonly limit: number | null;
}

/** Reads `limit` and `continuationToken` of a query. Throws `validation_failed` or `continuation_token_invalid`. */
export function readPageRequest(
  limit: number | null | undefined,
  continuationToken: string | null | undefined,
): PageRequest {
  if (limit !== null && limit !== undefined && (!Number.isSafeInteger(limit) || limit < 1)) {
    throw invalidMember('/limit', 'must be a whole number above 0');
  }
  return { offset: readOffset(continuationToken), limit: limit ?? null };
}

/** The offset as a decimal number, in base64. */
export function offsetToken(offset: number): string {
  return Buffer.from(String(offset)).toString('base64');
}

function readOffset(token: string | null | undefined): number {
  if (token === null || token === undefined) return 0;
  const offset = Number(Buffer.from(token, 'base64').toString('latin1'));
  // Accept one spelling only: a sign, a fraction, white space or other base64 gives another text.
  if (!Number.isSafeInteger(offset) || offset < 0 || offsetToken(offset) !== token) {
    throw invalidMember(
      '/continuationToken',
      'is not a continuation token of a query',
      'continuation_token_invalid',
    );
  }
  return offset;
}
