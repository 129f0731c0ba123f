import { invalid } from './refusal.ts';

interface PageRequest {
  readonly pageSize?: number | null;
  readonly pageToken?: string | null;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextPageToken: string;
}

interface Listing<Item> {
  /** The identity of the list: a token of one list is invalid for another. */
  readonly scope: string;
  /** In the order of their keys. */
  readonly items: Iterable<Item>;
  readonly key: (item: Item) => string | number;
  readonly sizeMax: number;
  /** The limit of a page in bytes; a page has at least one item. */
  readonly bytes?: { readonly of: (item: Item) => number; readonly max: number };
}

/** One page of a list. It continues after the last item of the previous page, even if items were added or removed. */
export function pageOf<Item>(request: PageRequest, listing: Listing<Item>): Page<Item> {
  const { scope, key, sizeMax, bytes } = listing;
  const asked = request.pageSize ?? 0;
  if (asked < 0) throw invalid('pageSize must be 0 or more.');
  const size = asked === 0 ? sizeMax : Math.min(asked, sizeMax);
  const after = request.pageToken ? readToken(request.pageToken, scope) : undefined;
  const items: Item[] = [];
  let sum = 0;
  for (const item of listing.items) {
    if (after !== undefined && key(item) <= after) continue;
    sum += bytes?.of(item) ?? 0;
    const full = items.length === size || (bytes !== undefined && sum > bytes.max);
    const last = items.at(-1);
    if (full && last !== undefined) return { items, nextPageToken: writeToken(scope, key(last)) };
    items.push(item);
  }
  return { items, nextPageToken: '' };
}

function writeToken(scope: string, last: string | number): string {
  return Buffer.from(JSON.stringify([scope, last])).toString('base64url');
}

function readToken(token: string, scope: string): string | number {
  try {
    const value: unknown = JSON.parse(Buffer.from(token, 'base64url').toString());
    if (Array.isArray(value) && value[0] === scope && ['string', 'number'].includes(typeof value[1]))
      return value[1] as string | number;
  } catch {
    // A malformed token gets the same answer as any foreign token.
  }
  throw invalid('pageToken is not one that this list has given out.');
}
