import { ServiceError } from '../kernel/errors.ts';
import type { JsonMembers } from '../kernel/json-kinds.ts';
import { invalidParams } from './errors.ts';
import type { McpExchange } from './exchange.ts';
import { CONTENT_VERSION } from './names.ts';
import { WrittenItems } from './written-items.ts';

/** The result members of one page of a list. The list is sorted by its unique keys. */
export async function listResult<Item extends object>(
  exchange: McpExchange,
  member: string,
  items: readonly Item[],
  keyOf: (item: Item) => string,
): Promise<JsonMembers> {
  const { catalog, settings, tokens } = exchange.parts;
  const query = { mcp: 'cursor', method: exchange.call.method, contentVersion: catalog.contentVersion };
  const after = await positionOf(exchange, query);
  const sorted = items.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const rest = after === null ? sorted : sorted.filter((item) => keyOf(item) > after);
  const page = rest.slice(0, settings.pageSize);
  const last = page.at(-1);
  const nextCursor =
    rest.length > page.length && last !== undefined ? await tokens.issue(query, keyOf(last)) : null;
  return {
    resultType: 'complete',
    [member]: new WrittenItems(page),
    ...(nextCursor === null ? {} : { nextCursor }),
    ttlMs: settings.listTtlMs,
    // The list depends on the caller's rights.
    cacheScope: 'private',
    _meta: { [CONTENT_VERSION]: catalog.contentVersion },
  };
}

async function positionOf({ call, parts }: McpExchange, query: object): Promise<string | null> {
  const { cursor } = call.params;
  if (cursor === undefined) return null;
  if (typeof cursor !== 'string') throw invalidParams('Invalid params: the cursor is not a string');
  try {
    return await parts.tokens.read(query, cursor);
  } catch (error) {
    if (error instanceof ServiceError) throw invalidParams('Invalid params: the cursor is unknown');
    throw error;
  }
}
