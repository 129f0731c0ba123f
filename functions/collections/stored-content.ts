import type { Head, RecordData } from '../store/port.ts';
import { StoreError } from '../store/port.ts';
import type { Incarnation } from './rules/incarnation.ts';
import type { RecordFacts, VectorFacts } from './rules/inspection.ts';
import type { StoredStamp } from './rules/record-stamp.ts';
import type { StoredText } from './rules/stored-text.ts';

const INCARNATION_PREFIX = 8;

/**
 * An index value as the store holds it. SQL databases keep the values of all collections of a space in one index: the prefix from
 * the incarnation lets a range of values read one collection.
 */
export function indexText(incarnation: Incarnation, value: string): string {
  return incarnation.slice(0, INCARNATION_PREFIX) + value;
}

export function factsIn(head: Head): RecordFacts {
  const { vectors } = head;
  return {
    id: textIn(head, 'id') ?? '',
    partitionKey: textIn(head, 'partitionKey') ?? '',
    type: textIn(head, 'type') ?? '',
    documentId: textIn(head, 'documentId'),
    embeddingProvider: textIn(head, 'embeddingProvider'),
    embeddingModel: textIn(head, 'embeddingModel'),
    termsLeftOut: Number(head['termsLeftOut'] ?? 0),
    // The members of each stored vector have the names above.
    vectors: typeof vectors === 'string' ? (JSON.parse(vectors) as VectorFacts[]) : [],
  };
}

function textIn(head: Head, name: string): string | null {
  const value = head[name];
  return typeof value === 'string' ? value : null;
}

export function stampIn(head: Head): StoredStamp {
  const { revision, createdAt, updatedAt } = head;
  if (typeof revision !== 'number' || typeof createdAt !== 'string' || typeof updatedAt !== 'string')
    throw new StoreError('corrupt', 'a record has no revision');
  return { revision, createdAt, updatedAt };
}

/** The stored text for answers; the record was read with its body. */
export function storedText({ head, body }: RecordData): StoredText {
  if (typeof body !== 'string') throw new StoreError('corrupt', 'a record has no text');
  return { ...stampIn(head), text: body, hasVectors: head['vectors'] !== undefined };
}
