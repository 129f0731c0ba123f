import type { SearchEntry, SearchVector } from '../../store/search.ts';
import type { Incarnation } from '../rules/incarnation.ts';
import type { CollectionPolicy } from '../rules/policy.ts';
import { orderKey, type PartitionedKey } from '../rules/record-key.ts';
import { type Leaf, leavesOf } from './leaves.ts';
import { LEXICON_BYTES_MAX, lexiconOf, normalLeaves } from './lexicon.ts';
import { vectorSlots } from './slots.ts';
import { TERM_BYTES_MAX, TERMS_MAX, termBytes, termsOf } from './terms.ts';
import { wordCountsOf } from './word-counts.ts';
import { wordsInSteps } from './words.ts';

/** The text of a record, its search entry and a reserve for its indexes fit into one document of 1 MiB. */
const RECORD_AND_ENTRY_BYTES_MAX = 1_000_000;
/** Firestore allows 2 MiB of index entries for a document. A term takes about this many bytes beside its order key. */
const INDEX_BYTES_MAX = 2_000_000;
const TERM_INDEX_BYTES = 400;
/** Firestore stores each number of a vector as a double. */
const VECTOR_NUMBER_BYTES = 8;
/** The length of a step of long work: this number of short leaves, or of characters of a long leaf. */
const STEP_LEAVES = 1_024;
const STEP_LENGTH = 16_384;

/** The source of an entry: a record of a request, or a stored one. */
export interface SearchedRecord {
  readonly key: PartitionedKey;
  /** The stored text. */
  readonly text: string;
  readonly vectors: ReadonlyMap<string, { readonly values: Float32Array }>;
}

export interface RecordSearch {
  readonly entry: SearchEntry;
  /** The number of terms that no index holds, because the record has too many. */
  readonly termsLeftOut: number;
}

/** The search entry of version 1, in steps: that of a long record takes a tenth of a second and more. */
export function* searchEntryOf(
  record: SearchedRecord,
  policy: CollectionPolicy,
  incarnation: Incarnation,
): Generator<void, RecordSearch> {
  // With any longer path the lexicon is only a mark.
  const leaves = yield* normalLeaves(leavesOf(record.text, LEXICON_BYTES_MAX + 1));
  const vectors = vectorsOf(record, policy);
  const numbers = vectors.reduce((sum, { values }) => sum + values.length, 0);
  const taken = Buffer.byteLength(record.text) + numbers * VECTOR_NUMBER_BYTES;
  const room = Math.max(0, RECORD_AND_ENTRY_BYTES_MAX - taken);
  const words = yield* wordsOfEach(leaves);
  const key = orderKey(record.key);
  const { terms, leftOut } = yield* termsOf(words, room, termsMaxOf(key));
  // Count the bytes of the terms only if there is little room.
  const left = room >= LEXICON_BYTES_MAX + TERM_BYTES_MAX ? LEXICON_BYTES_MAX : room - termBytes(terms);
  const lexicon = lexiconOf(
    key,
    leaves,
    words.map(({ length }) => length),
    Math.min(LEXICON_BYTES_MAX, left),
  );
  const entry = { group: incarnation, terms, orderKey: key, lexicon, vectors };
  // If the index lacks some of its terms, a search reads the record anyway, so leave out its word counts.
  if (leftOut > 0) return { entry, termsLeftOut: leftOut };
  return { entry: { ...entry, wordCounts: yield* wordCountsOf(leaves, words) }, termsLeftOut: 0 };
}

function* wordsOfEach(leaves: readonly Leaf[]): Generator<void, readonly (readonly string[])[]> {
  const words: (readonly string[])[] = [];
  for (const { text } of leaves) {
    words.push(yield* wordsInSteps(text, STEP_LENGTH));
    if (words.length % STEP_LEAVES === 0) yield;
  }
  return words;
}

/** The most terms for a record with this order key: the index stores the key beside each term. */
function termsMaxOf(key: string): number {
  return Math.min(TERMS_MAX, Math.floor(INDEX_BYTES_MAX / (TERM_INDEX_BYTES + Buffer.byteLength(key))));
}

function vectorsOf({ vectors }: SearchedRecord, policy: CollectionPolicy): readonly SearchVector[] {
  return [...vectorSlots(policy)].flatMap(([name, { slot, metric, dimensions }]) => {
    const values = vectors.get(name)?.values;
    return values?.length === dimensions ? [{ slot, metric, values }] : [];
  });
}
