import { InvalidArgumentError, Option } from 'commander';
import { ToolError } from '../output.ts';

/** The longest list that a command prints. */
const itemsMax = 100_000;

/** `--limit`, for a command that follows the pages of a list. */
export function limitOption(what: string): Option {
  return new Option('--limit <n>', `how many ${what} to list, over as many pages as it takes`)
    .argParser((text) => {
      const value = Number(text);
      if (!/^\d{1,6}$/.test(text) || value === 0 || value > itemsMax)
        throw new InvalidArgumentError(`Not a whole number from 1 to ${itemsMax}.`);
      return value;
    })
    .default(50);
}

export interface Page<T> {
  readonly items: readonly T[];
  /** The token of the next page; `null` on the last one. */
  readonly next: string | null;
}

/** At most `limit` items, and whether more follow. `read` gets the token of the page and the number of items still wanted. */
export async function itemsUpTo<T>(
  limit: number,
  read: (next: string | undefined, wanted: number) => Promise<Page<T>>,
): Promise<{ readonly items: readonly T[]; readonly more: boolean }> {
  const items: T[] = [];
  const seen = new Set<string>();
  for (let next: string | undefined; ; ) {
    const page = await read(next, limit - items.length);
    const wanted = limit - items.length;
    items.push(...page.items.slice(0, wanted));
    if (page.next === null || items.length === limit)
      return { items, more: page.next !== null || page.items.length > wanted };
    if (seen.has(page.next))
      throw new ToolError('The list does not end: a page names itself as the next one.');
    seen.add(page.next);
    next = page.next;
  }
}
