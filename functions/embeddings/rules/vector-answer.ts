import { schemaFailure } from '../../providers/outgoing/answer.ts';
import { isCount } from '../../providers/rules/usage.ts';

/** A vector of an answer, in the requested size. Throws a `ProviderFailure` of the class `schema`. */
export function readVector(values: unknown, dimensions: number): Float32Array {
  if (!Array.isArray(values) || values.length !== dimensions)
    throw schemaFailure('vector_length', `The provider answered no vector of ${dimensions} numbers.`);
  const vector = new Float32Array(dimensions);
  for (const [at, value] of values.entries()) vector[at] = typeof value === 'number' ? value : Number.NaN;
  if (!vector.every((value) => Number.isFinite(value)))
    throw schemaFailure(
      'vector_not_finite',
      'The provider answered a vector with a number that is not finite.',
    );
  return vector;
}

/** The list member of an answer, with as many items as texts were sent. Throws a `ProviderFailure` of the class `schema`. */
export function readList(answer: unknown, name: string, length: number): readonly unknown[] {
  const list = memberOf(answer, name);
  if (!Array.isArray(list) || list.length !== length)
    throw schemaFailure(
      'vector_count',
      `The provider did not answer one vector for each of ${length} texts.`,
    );
  return list;
}

/**
 * The tokens that an answer reports: the first of the values that is a count above 0; `null` if none is. Each text has a token, so 0
 * comes from a server that does not count.
 */
export function reportedTokens(...values: readonly unknown[]): number | null {
  return values.filter(isCount).find((count) => count > 0) ?? null;
}

/** A member of a JSON object; `undefined` if it is absent. */
export function memberOf(value: unknown, name: string): unknown {
  const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
  return isObject ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

/** Bytes of an answer with so many vectors, and as many again for the JSON around them. */
export function answerBytesMax(texts: number, dimensions: number): number {
  return 65_536 + texts * dimensions * 48;
}
