import { hash } from 'node:crypto';
import { FieldValue } from '@google-cloud/firestore';
import { bytesOf } from '../nearest/float-bytes.ts';
import type { SearchEntry, SearchVector } from '../search.ts';
import { norm } from '../similarity.ts';
import { encodeText, type FirestoreValue, type StoredFields } from './layout.ts';
import { entryBytes, storedBytes, utf8Bytes } from './size.ts';

/**
 * The fields of a search entry. They are part of the record's own document, so that a write of the record stays one
 * write; an entry that does not fit there has a document of its own.
 */
export const searchFieldNames = [
  'searchGroup',
  'terms',
  /** Orders the entries of a term. */
  'searchOrder',
  'lexicon',
  /** Slot → the vector as little-endian float32, which scores are made from. */
  'vectors',
  /** Token of group and slot → the length of the vector: lists the vectors of a slot. */
  'slots',
] as const;

/** Vectors of these lengths have an index for the search of Firestore itself, in these slots. */
const indexedDimensions = [64, 384, 768, 1024, 1536] as const;
const indexedLetters = ['a', 'b', 'c', 'd'] as const;

export interface VectorIndexField {
  readonly name: string;
  readonly dimensions: number;
}

const vectorFieldsBySlot = new Map<string, VectorIndexField>(
  indexedDimensions.flatMap((dimensions) =>
    indexedLetters.map((letter) => [
      `${dimensions}${letter}`,
      { name: `v${dimensions}${letter}`, dimensions },
    ]),
  ),
);

export const vectorFields: readonly VectorIndexField[] = [...vectorFieldsBySlot.values()];

/** The field of a slot that Firestore searches. `undefined`: no index has it. */
export function vectorFieldOf(slot: string, dimensions: number): string | undefined {
  const field = vectorFieldsBySlot.get(slot);
  return field?.dimensions === dimensions ? field.name : undefined;
}

/** The letter keeps the path an ordinary identifier. Two groups may share it by chance, so the name of the group is compared too. */
export function slotToken(group: string, slot: string): string {
  return `k${hash('sha256', JSON.stringify([group, slot]), 'hex').slice(0, 12)}`;
}

export function searchFields(entry: SearchEntry): StoredFields {
  const { group, terms, orderKey, lexicon, vectors } = entry;
  const indexed = vectors.flatMap((vector): [string, FirestoreValue][] => {
    const field = vectorFieldOf(vector.slot, vector.values.length);
    return field === undefined ? [] : [[field, FieldValue.vector(indexedValues(vector))]];
  });
  return {
    searchGroup: group,
    terms,
    searchOrder: orderKey,
    lexicon: encodeText(lexicon),
    ...(vectors.length === 0
      ? {}
      : { vectors: bySlot(vectors, ({ values }) => Buffer.from(bytesOf(values))) }),
    ...(vectors.length === 0
      ? {}
      : {
          slots: Object.fromEntries(
            vectors.map(({ slot, values }) => [slotToken(group, slot), norm(values)]),
          ),
        }),
    ...Object.fromEntries(indexed),
  };
}

function bySlot<V>(vectors: readonly SearchVector[], value: (vector: SearchVector) => V): Record<string, V> {
  return Object.fromEntries(vectors.map((vector) => [vector.slot, value(vector)]));
}

/**
 * The vector that Firestore compares. For cosine it has length 1, so that dot products are the scores. A zero vector stays
 * zero and scores 0: Firestore's own cosine has no score for it.
 */
export function indexedValues({ metric, values }: Pick<SearchVector, 'metric' | 'values'>): number[] {
  const length = metric === 'cosine' ? norm(values) : 1;
  return Array.from(values, (value) => (length === 0 ? 0 : value / length));
}

export function searchBytes(fields: StoredFields): number {
  return storedBytes(fields);
}

/** Index bytes of a search entry: one index entry for each term, and two for each vector. */
export function searchIndexBytes(path: string, { group, terms, orderKey, vectors }: SearchEntry): number {
  const fixed = entryBytes(path, utf8Bytes(group) + 20);
  const ofOrder = utf8Bytes(orderKey) + 1;
  const ofTerms = terms.reduce((sum, term) => sum + fixed + utf8Bytes(term) + 1 + ofOrder, 0);
  return vectors.reduce((sum, { values }) => sum + 2 * fixed + 8 * values.length, ofTerms);
}
