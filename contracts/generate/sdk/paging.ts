import type { ModelShape, SdkParameter, SdkRequest, SdkResponse } from './ir.ts';
import type { SdkType } from './types.ts';

/** How lists are cut into pages, by the names that a request and its answer use. */
export interface PagingRule {
  /** The member of the request, or the query parameter, that says where the page before ended. Text, and optional. */
  readonly requestToken: string;
  /** The member of the answer that asks for the next page; null or absent after the last. */
  readonly responseToken: string;
  /** The member of the answer that holds the entries of the page: a list. */
  readonly items: string;
  /** The member or query parameter that bounds a page, where there is one. */
  readonly limit: string;
}

/** The first rule that fits an operation is the operation's. A group that pages otherwise adds a line. */
export const PAGING_RULES: readonly PagingRule[] = [
  {
    requestToken: 'continuationToken',
    responseToken: 'continuationToken',
    items: 'items',
    limit: 'limit',
  },
];

export interface SdkPaging {
  /** Where the token of the request goes. */
  readonly tokenIn: 'body' | 'query';
  readonly requestToken: string;
  readonly responseToken: string;
  readonly items: string;
  /** The type of one entry. */
  readonly item: SdkType;
  /** The name that bounds a page, in the same place as the token; null where the operation has none. */
  readonly limit: string | null;
}

export interface Pageable {
  readonly retry: 'safe' | 'with-key' | 'never';
  readonly request: SdkRequest | null;
  readonly query: readonly SdkParameter[];
  readonly responses: readonly SdkResponse[];
}

/**
 * How a read is paged; null where no rule fits. Asked of the request is an optional token, of the one answer with a body
 * the token and a list.
 */
export function pagingOf(
  operation: Pageable,
  models: ReadonlyMap<string, ModelShape>,
  rules: readonly PagingRule[] = PAGING_RULES,
): SdkPaging | null {
  const [answer, ...more] = operation.responses.filter(({ body }) => body !== null);
  // To ask again is to read again: a write that answers a token is not paged by repeating it.
  if (operation.retry !== 'safe' || more.length > 0 || answer?.body?.kind !== 'json') return null;
  const members = membersOf(models.get(answer.body.model));
  for (const rule of rules) {
    const list = members.get(rule.items)?.type;
    if (list?.kind !== 'array' || !isToken(members.get(rule.responseToken)?.type)) continue;
    const place = tokenPlace(operation, models, rule);
    if (place === null) continue;
    const { requestToken, responseToken, items } = rule;
    return { ...place, requestToken, responseToken, items, item: list.items };
  }
  return null;
}

function tokenPlace(
  { request, query }: Pageable,
  models: ReadonlyMap<string, ModelShape>,
  { requestToken, limit }: PagingRule,
): Pick<SdkPaging, 'tokenIn' | 'limit'> | null {
  if (request?.kind === 'json') {
    const members = membersOf(models.get(request.model));
    const token = members.get(requestToken);
    if (token !== undefined && !token.required && isToken(token.type)) {
      return { tokenIn: 'body', limit: members.has(limit) ? limit : null };
    }
  }
  const token = query.find(({ name }) => name === requestToken);
  if (token === undefined || token.required || !isToken(token.type)) return null;
  return { tokenIn: 'query', limit: query.some(({ name }) => name === limit) ? limit : null };
}

function membersOf(model: ModelShape | undefined) {
  return new Map((model?.members ?? []).map((member) => [member.name, member] as const));
}

function isToken(type: SdkType | undefined): boolean {
  return type?.kind === 'string' || (type?.kind === 'nullable' && type.of.kind === 'string');
}
