import { float32Number } from '../../collections/rules/snapshot/float32-text.ts';
import type { EmbeddingItem } from '../embed-texts.ts';
import { vectorOfText, vectorText } from '../rules/vector-bytes.ts';

/** Items of an answer in a checkpoint, in a third of their size as JSON. */
export type PackedItems = {
  /** The size of each vector. */
  readonly dimensions: number;
  /** For each text its length, that of the prepared text, whether the prefix was applied, and the length of the prefix. */
  readonly facts: readonly (readonly [number, number, boolean, number])[];
  /** The numbers of all vectors in a row. */
  readonly vectors: string;
};

export function packItems(items: readonly EmbeddingItem[], dimensions: number): PackedItems {
  const facts = items.map(
    ({ textLength, preparedTextLength, prefixApplied, prefixLength }) =>
      [textLength, preparedTextLength, prefixApplied, prefixLength] as const,
  );
  return { dimensions, facts, vectors: vectorText(items.flatMap(({ values }) => values)) };
}

/** Unpacks the items; the first has the index `first`. */
export function unpackItems({ dimensions, facts, vectors }: PackedItems, first: number): EmbeddingItem[] {
  const numbers = vectorOfText(vectors);
  return facts.map(([textLength, preparedTextLength, prefixApplied, prefixLength], at) => {
    const own = numbers.subarray(at * dimensions, (at + 1) * dimensions);
    const values = Array.from(own, float32Number);
    return { index: first + at, textLength, preparedTextLength, prefixApplied, prefixLength, values };
  });
}
