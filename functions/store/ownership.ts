import type { Collection } from './port.ts';

/**
 * The owner of a collection's records: a tenant, a space (data of one product for one purpose), or the service itself.
 */
type Owner = 'tenant' | 'space' | 'service';

/**
 * The copies that carry the records: those of a tenant, those of a space, or none. A record in no copy is derived again
 * after a restore, such as a counter, or belongs to one deployment alone, such as a secret.
 */
export type Copies = 'tenant' | 'space' | 'none';

/** A collection with its owner: export, restore, preflight and deletion follow these two words and list no collection. */
export interface OwnedCollection extends Collection {
  readonly owner: Owner;
  readonly copies: Copies;
}

export const TENANT_DATA = { owner: 'tenant', copies: 'tenant' } as const;
export const SPACE_DATA = { owner: 'space', copies: 'space' } as const;
export const SERVICE_DATA = { owner: 'service', copies: 'none' } as const;

/** The collections that copies of this kind carry, in the order of their names, which is that of a scan. */
export function carriedBy(
  copies: Exclude<Copies, 'none'>,
  collections: readonly OwnedCollection[],
): readonly OwnedCollection[] {
  return collections.filter((each) => each.copies === copies).sort(byName);
}

function byName(left: Collection, right: Collection): number {
  if (left.name === right.name) return 0;
  return left.name < right.name ? -1 : 1;
}
