import { invalidMember, pointerTo } from '../../kernel/errors.ts';
import type { CollectionPolicy, VectorPolicy } from './policy.ts';

/** A vector of a request, whose members have the types that its schema names. */
export interface VectorRequest {
  readonly values?: readonly number[] | null;
  readonly dimensions?: number | null;
  readonly model?: string | null;
  readonly datatype?: string | null;
  readonly distanceFunction?: string | null;
  readonly generatedAt?: string | null;
  readonly sourceField?: string | null;
}

/** A vector as it is stored; its numbers are float32. */
export interface RecordVector {
  readonly values: Float32Array;
  readonly dimensions: number;
  readonly model: string | null;
  readonly datatype: string;
  readonly distanceFunction: string;
  readonly generatedAt: string | null;
  readonly sourceField: string | null;
}

/**
 * Reads the vectors of a record against the policy of its collection. Throws `validation_failed` naming the member below
 * `pointer`.
 */
export function readVectors(
  vectors: Readonly<Record<string, VectorRequest>>,
  policy: CollectionPolicy,
  pointer = '/vectors',
): ReadonlyMap<string, RecordVector> {
  const policies = new Map(policy.vectorPolicies.map((each) => [each.name, each]));
  return new Map(
    Object.entries(vectors).map(([name, vector]) => {
      const place = pointerTo(pointer, name);
      const expected = policies.get(name);
      if (expected === undefined) throw invalidMember(place, 'has no vector policy in the collection');
      return [name, readVector(vector, expected, place)];
    }),
  );
}

function readVector(vector: VectorRequest, policy: VectorPolicy, pointer: string): RecordVector {
  const { dimensions } = policy;
  const given = vector.values ?? [];
  if (given.length !== dimensions) {
    throw invalidMember(`${pointer}/values`, `must have the ${dimensions} dimensions of its policy`);
  }
  // Absent dimensions and 0 mean those of the policy.
  if ((vector.dimensions ?? 0) !== 0 && vector.dimensions !== dimensions) {
    throw invalidMember(`${pointer}/dimensions`, `must be the ${dimensions} dimensions of its policy`);
  }
  // Much faster than Float32Array.from, which uses an iterator.
  const values = new Float32Array(given);
  const infinite = values.findIndex((value) => !Number.isFinite(value));
  if (infinite >= 0) throw invalidMember(`${pointer}/values/${infinite}`, 'must be a finite float32');
  return {
    values,
    dimensions,
    // An absent datatype or function means the default of the contract, not that of the policy.
    datatype: equalWord(vector.datatype ?? 'float32', policy.datatype, `${pointer}/datatype`),
    distanceFunction: equalWord(
      vector.distanceFunction ?? 'cosine',
      policy.distanceFunction,
      `${pointer}/distanceFunction`,
    ),
    model: vector.model ?? null,
    generatedAt: vector.generatedAt ?? null,
    sourceField: vector.sourceField ?? null,
  };
}

function equalWord(word: string, expected: string, pointer: string): string {
  if (word.toLowerCase() === expected.toLowerCase()) return word;
  throw invalidMember(pointer, `must be ${expected}, as its policy says`);
}
