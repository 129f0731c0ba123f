import type { RecordStore } from '../store/port.ts';
import type { SearchEntry } from '../store/search.ts';
import type { CollectionPolicy } from './rules/policy.ts';
import { projectedPaths, projectValues } from './rules/projection.ts';
import { termBytes } from './search/terms.ts';
import type { FindableRecord } from './stored-record.ts';

/** What one transaction may weigh; Firestore takes 10 MiB in one commit. */
export const WEIGHT_MAX = 8 * 1024 * 1024;

/** What a record weighs beside its text, in bytes. */
export interface WeightScale {
  /** An index entry beside its value and the order key, and how often both are there. */
  readonly entryBytes: number;
  readonly entryCopies: number;
  /** A term or vector beside its value, and how often both are there. */
  readonly searchEntryBytes: number;
  readonly searchCopies: number;
  /** A number of a vector, in the record and in indexes. */
  readonly numberBytes: number;
  readonly indexedNumberBytes: number;
}

/**
 * Entries of an index are there for both directions, those of terms and vectors once each, and all of them for the replaced record
 * too. The name of the space has 40 bytes. A vector is stored as float32 and as doubles, and the doubles stand in two indexes.
 */
const DOCUMENTS: WeightScale = {
  entryBytes: 215,
  entryCopies: 4,
  searchEntryBytes: 300,
  searchCopies: 2,
  numberBytes: 4 + 8,
  indexedNumberBytes: 2 * 8,
};

/** A term takes a few bytes, and time: 80,000 of them hold up the process about as long as 8 MiB of texts. */
const ROWS: WeightScale = {
  entryBytes: 128,
  entryCopies: 1,
  searchEntryBytes: 100,
  searchCopies: 1,
  numberBytes: 4,
  indexedNumberBytes: 0,
};

/** How the records of a store are weighed. */
export function scaleOf({ weighsIndexEntries }: Pick<RecordStore, 'weighsIndexEntries'>): WeightScale {
  return weighsIndexEntries === true ? DOCUMENTS : ROWS;
}

/** What a record weighs in a transaction: its text and its search entry, and what the indexes of both take. */
export function weightOf(
  { key, text, value, search }: FindableRecord,
  policy: CollectionPolicy,
  scale: WeightScale,
): number {
  const values = Object.values(projectValues(value, projectedPaths(policy.indexedMetadata)));
  const keyBytes = Buffer.byteLength(key.partitionKey) + Buffer.byteLength(key.id);
  const valueBytes = values.reduce((sum, each) => sum + Buffer.byteLength(each), 0);
  const entries = 4 + 2 * values.length;
  const indexed = scale.entryCopies * (entries * (scale.entryBytes + keyBytes) + 2 * valueBytes);
  return Buffer.byteLength(text) + indexed + searchWeight(search.entry, scale);
}

/** What the search entry of a record weighs in a transaction. */
export function searchWeight({ terms, lexicon, vectors }: SearchEntry, scale: WeightScale): number {
  const numbers = vectors.reduce((sum, { values }) => sum + values.length, 0);
  const termed = termBytes(terms);
  const stored = termed + Buffer.byteLength(lexicon) + scale.numberBytes * numbers;
  const entries = (terms.length + 2 * vectors.length) * scale.searchEntryBytes;
  const indexed = entries + termed + scale.indexedNumberBytes * numbers;
  return stored + scale.searchCopies * indexed;
}
