import { limits } from '../../../contracts/generated/limits.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { checkContainer, readObjectKey, readPrefix } from './object-name.ts';

/** A list as its caller asks for it. */
export interface ObjectListRequest {
  readonly container: string;
  readonly prefix?: string | null | undefined;
  readonly limit?: number | null | undefined;
  /** The last key of the page before, from its token. */
  readonly after?: string | null | undefined;
}

export interface ObjectListQuery {
  readonly container: string;
  readonly prefix: string;
  readonly limit: number;
  readonly after: string | null;
}

/** Throws `validation_failed`, `limit_exceeded` or, for a position of another list, `continuation_token_invalid`. */
export function readObjectList({ container, prefix, limit, after }: ObjectListRequest): ObjectListQuery {
  const query = {
    container: checkContainer(container, '/container'),
    prefix: readPrefix(prefix ?? '', '/prefix'),
    limit: limit ?? limits.objectListLimitDefault,
    after: after ?? null,
  };
  if (!Number.isInteger(query.limit) || query.limit < 1 || query.limit > limits.objectListLimitMax) {
    throw invalidMember('/limit', `must be a whole number from 1 to ${limits.objectListLimitMax}`);
  }
  if (query.after !== null) checkPosition(query.after, query.prefix);
  return query;
}

function checkPosition(after: string, prefix: string): void {
  const isOfList = after.startsWith(prefix) && readObjectKey(after, '/continuationToken') === after;
  if (isOfList) return;
  throw invalidMember(
    '/continuationToken',
    'is not a continuation token of this list',
    'continuation_token_invalid',
  );
}
