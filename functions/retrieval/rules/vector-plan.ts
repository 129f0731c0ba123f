import type { CollectionPolicy } from '../../collections/rules/policy.ts';
import { type VectorSlot, vectorSlots } from '../../collections/search/slots.ts';
import { invalidMember } from '../../kernel/errors.ts';
import type { VectorField } from './vector-fields.ts';

/** A vector of a collection that a retrieval compares. */
export interface PlannedVector {
  readonly field: string;
  readonly slot: VectorSlot;
}

/**
 * The vectors of a collection that a retrieval compares, in the order of its fields. Throws `validation_failed` for a field that
 * the collection does not have, for two fields that are one vector, and for a length that the provider does not give.
 */
export function planVectors(
  fields: readonly VectorField[],
  policy: CollectionPolicy,
  dimensions: number,
): readonly PlannedVector[] {
  const slots = vectorSlots(policy);
  const used = new Set<string>();
  return fields.map(({ field: named, pointer }) => {
    const field = named ?? policy.vectorPolicies[0]?.name;
    const slot = field === undefined ? undefined : slots.get(field);
    if (field === undefined || slot === undefined)
      throw invalidMember(
        pointer,
        `needs ${field === undefined ? 'vectors' : `the vector '${field}'`}, which the collection '${policy.name}' does not have`,
      );
    if (used.has(field)) throw invalidMember(pointer, 'must differ from the other fields');
    used.add(field);
    if (slot.dimensions !== dimensions)
      throw invalidMember(
        pointer,
        `has ${slot.dimensions} dimensions in the collection '${policy.name}'. Embedding provider returns ${dimensions} dimensions`,
      );
    return { field, slot };
  });
}
