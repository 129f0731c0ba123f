import type { Collection, ListSelection } from './port.ts';

/** The collections of these that are always listed by group. A write names its collection only, so a provider asks here. */
export function groupedNames(collections: readonly Collection[] = []): ReadonlySet<string> {
  return new Set(collections.filter(({ listedByGroup }) => listedByGroup).map(({ name }) => name));
}

/**
 * The name under which an SQL provider stores the entries of an index. Entries of a grouped collection are ordered by
 * group, so a range of one group is one range of the primary order.
 */
export function entryName(isGrouped: boolean, group: string, name: string): string {
  return isGrouped ? `${group}\u0001${name}` : name;
}

export function listedName({ collection, group = '' }: ListSelection, name: string): string {
  return entryName(collection.listedByGroup === true, group, name);
}

export function checkGroup({ collection, group }: ListSelection): void {
  if (collection.listedByGroup && group === undefined)
    throw new TypeError(`a list of ${collection.name} names no group`);
}
