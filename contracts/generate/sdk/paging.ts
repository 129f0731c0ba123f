import type { ModelShape, SdkPaging, SdkParameter, SdkRequest, SdkResponse } from './ir.ts';
import type { SdkType } from './types.ts';

/** A paging convention: the names that a request and its answer use. */
export interface PagingRule {
  /** The request member or query parameter with the position after the previous page. Optional text. */
  readonly requestToken: string;
  /** The answer member with the next page's token; null or absent on the last page. */
  readonly responseToken: string;
  /** The answer member with the entries of the page: a list. */
  readonly items: string;
  /** The request member or query parameter that limits a page. */
  readonly limit: string;
}

/**
 * The first rule that fits an operation applies. A group with another convention adds a line.
 * @testonly
 */
export const PAGING_RULES: readonly PagingRule[] = [
  {
    requestToken: 'continuationToken',
    responseToken: 'continuationToken',
    items: 'items',
    limit: 'limit',
  },
];

export interface Pageable {
  readonly retry: 'safe' | 'with-key' | 'never';
  readonly request: SdkRequest | null;
  readonly query: readonly SdkParameter[];
  readonly responses: readonly SdkResponse[];
}

/**
 * The paging of a read; null if no rule fits. A rule needs an optional token in the request, and the token and a list
 * in the only answer with a body.
 */
export function pagingOf(
  operation: Pageable,
  models: ReadonlyMap<string, ModelShape>,
  rules: readonly PagingRule[] = PAGING_RULES,
): SdkPaging | null {
  const [answer, ...more] = operation.responses.filter(({ body }) => body !== null);
  // Page reads only: fetching the next page repeats the operation, which a write must not do.
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
