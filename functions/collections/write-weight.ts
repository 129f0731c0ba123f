import type { RecordStore } from '../store/port.ts';
import type { SearchEntry } from '../store/search.ts';
import type { CollectionPolicy } from './rules/policy.ts';
import { projectedPaths, projectValues } from './rules/projection.ts';
import { termBytes } from './search/terms.ts';
import type { FindableRecord } from './stored-record.ts';

/** The largest weight of one transaction; Firestore allows 10 MiB in one commit. */
export const WEIGHT_MAX = 8 * 1024 * 1024;

/** The weights of a record's parts beside its text, in bytes. */
export interface WeightScale {
  /** The bytes of an index entry without its value and the order key; `entryCopies` is how many times all of it is stored. */
  readonly entryBytes: number;
  readonly entryCopies: number;
  /** The bytes of an entry for a term or a vector without its value; `searchCopies` is how many times all of it is stored. */
  readonly searchEntryBytes: number;
  readonly searchCopies: number;
  /** The weight of a vector's number, in the record and in indexes. */
  readonly numberBytes: number;
  readonly indexedNumberBytes: number;
}

/**
 * Firestore keeps index entries for both directions, and those of terms and vectors once; a write also counts those of the replaced
 * record. The name of the space has 40 bytes. A vector is stored as float32 and as doubles, and two indexes hold the doubles.
 */
const DOCUMENTS: WeightScale = {
  entryBytes: 215,
  entryCopies: 4,
  searchEntryBytes: 300,
  searchCopies: 2,
  numberBytes: 4 + 8,
  indexedNumberBytes: 2 * 8,
};

/** A term takes a few bytes, but also time: 80,000 terms block the process about as long as 8 MiB of texts. */
const ROWS: WeightScale = {
  entryBytes: 128,
  entryCopies: 1,
  searchEntryBytes: 100,
  searchCopies: 1,
  numberBytes: 4,
  indexedNumberBytes: 0,
};

/** The scale for the records of a store. */
export function scaleOf({ weighsIndexEntries }: Pick<RecordStore, 'weighsIndexEntries'>): WeightScale {
  return weighsIndexEntries === true ? DOCUMENTS : ROWS;
}

/** The weight of a record in a transaction: its text, its search entry, and their index entries. */
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

/** The weight of a record's search entry in a transaction. */
export function searchWeight({ terms, lexicon, vectors }: SearchEntry, scale: WeightScale): number {
  const numbers = vectors.reduce((sum, { values }) => sum + values.length, 0);
  const termed = termBytes(terms);
  const stored = termed + Buffer.byteLength(lexicon) + scale.numberBytes * numbers;
  const entries = (terms.length + 2 * vectors.length) * scale.searchEntryBytes;
  const indexed = entries + termed + scale.indexedNumberBytes * numbers;
  return stored + scale.searchCopies * indexed;
}
