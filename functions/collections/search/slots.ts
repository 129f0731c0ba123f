import type { Metric } from '../../store/search.ts';
import { type CollectionPolicy, normalVectorPolicy } from '../rules/policy.ts';

/** The index slot of one vector of a collection. */
export interface VectorSlot {
  /** The dimensions and a letter that distinguishes vectors of equal dimensions: `384a`, `384b`, … `384z`, `384aa`. */
  readonly slot: string;
  readonly metric: Metric;
  readonly dimensions: number;
}

/** The slots of a collection by the names of its vectors. They follow from the policy, which never changes. */
export function vectorSlots({ vectorPolicies }: CollectionPolicy): ReadonlyMap<string, VectorSlot> {
  const used = new Map<number, number>();
  return new Map(
    vectorPolicies.map((policy) => {
      const { name, dimensions, distanceFunction } = normalVectorPolicy(policy);
      const before = used.get(dimensions) ?? 0;
      used.set(dimensions, before + 1);
      // A policy names one of the metrics, in any case.
      return [
        name,
        { slot: `${dimensions}${letters(before)}`, metric: distanceFunction as Metric, dimensions },
      ];
    }),
  );
}

/** `a` to `z`, then `aa`, `ab` and so on. */
function letters(index: number): string {
  const last = String.fromCharCode(0x61 + (index % 26));
  return index < 26 ? last : letters(Math.floor(index / 26) - 1) + last;
}
