import type { PartitionedKey } from '../../collections/rules/record-key.ts';

/** The order of plans: partition key, then id, both by UTF-16 units. */
export function compareKeys(a: PartitionedKey, b: PartitionedKey): number {
  return compareUnits(a.partitionKey, b.partitionKey) || compareUnits(a.id, b.id);
}

export function compareUnits(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

export function orderedByKey<Item extends PartitionedKey>(items: readonly Item[]): readonly Item[] {
  return [...items].sort(compareKeys);
}
