import { limits } from '../../../contracts/generated/limits.ts';
import { invalidMember } from '../../kernel/errors.ts';
import type { CollectionPolicy } from '../rules/policy.ts';
import type { EntryFormat } from './formats.ts';
import { single, wholeNumber } from './numbers.ts';
import type { VectorSlot } from './slots.ts';

/** The vector search of a request, whose members have the types that its schema names. */
export interface VectorSearchRequest {
  readonly field: string;
  readonly value: readonly number[];
  readonly top?: number | null;
  readonly minScore?: number | null;
}

/** A vector search with all defaults filled in. */
export interface VectorQuery extends Omit<VectorSlot, 'slot'> {
  /** The slots in the formats of the collection's entries. */
  readonly slots: readonly string[];
  /** The name of the vector. */
  readonly field: string;
  readonly values: Float32Array;
  readonly top: number;
  /** The least score of a match, a float32 as scores are. */
  readonly minScore: number | null;
}

/** Throws `validation_failed` naming the member below `pointer`. */
export function readVectorQuery(
  { field, value, top, minScore }: VectorSearchRequest,
  policy: CollectionPolicy,
  formats: readonly EntryFormat[],
  pointer = '/vector',
): VectorQuery {
  const found = formats.flatMap((format) => format.slots(policy).get(field) ?? []);
  const [slot] = found;
  if (slot === undefined) throw invalidMember(`${pointer}/field`, 'has no vector policy in the collection');
  if (value.length !== slot.dimensions) {
    throw invalidMember(`${pointer}/value`, `must have the ${slot.dimensions} dimensions of its policy`);
  }
  return {
    slots: [...new Set(found.map((each) => each.slot))],
    metric: slot.metric,
    dimensions: slot.dimensions,
    field,
    values: Float32Array.from(value, (each, index) => single(each, `${pointer}/value/${index}`)),
    top: wholeNumber(top ?? limits.searchVectorTopDefault, `${pointer}/top`),
    minScore: minScore === null || minScore === undefined ? null : single(minScore, `${pointer}/minScore`),
  };
}

/** Whether a match with this score belongs to the answer. */
export function isNear(score: number, { minScore }: VectorQuery): boolean {
  return minScore === null || score >= minScore;
}
