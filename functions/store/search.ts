/**
 * The similarity of two vectors. Higher is nearer; `euclidean` is `1 / (1 + distance)`; cosine is 0 for a zero vector.
 */
export type Metric = 'cosine' | 'dotProduct' | 'euclidean';

/**
 * The search entry of a record, written with the record in the same transaction. The record is in a scope of kind
 * `spaces`, in a collection that is listed by group, and has a listing of the same group that is not hidden.
 */
export interface SearchEntry {
  /** A search reads this group alone. */
  readonly group: string;
  /** Distinct, in lower case, each of 1 to 41 characters that are letters, digits or marks. At most 4,000. Compared as they are. */
  readonly terms: readonly string[];
  /** Orders the records of a term, as UTF-8 bytes. Distinct in a group, and at most 768 bytes. */
  readonly orderKey: string;
  /** Returned by each find by term, so that scoring needs no body. */
  readonly lexicon: string;
  readonly vectors: readonly SearchVector[];
  /**
   * Allows a provider to score the record without its lexicon. A provider may ignore the counts; absent, it cannot
   * score so.
   */
  readonly wordCounts?: EntryWordCounts;
}

/** The counts of an entry's terms in the fields that searches use by default. */
export interface EntryWordCounts {
  /** Words of these fields. */
  readonly length: number;
  /** Whole numbers from 0 on, with a meaning of the caller. A term without one has `USUAL_WORD_CODE`. */
  readonly codes: ReadonlyMap<string, number>;
}

/** Most terms have it, so that no provider stores it. */
export const USUAL_WORD_CODE = 2;

/** Scores words without reading lexicons. A provider offers it if its index holds the `wordCounts` of the entries. */
export interface WordCountsReader {
  /** `null`: more records than asked for, or than the provider allows, or one without word counts, hold a term. */
  counts(request: WordCountsRequest): Promise<WordCounts | null>;
  /** The places of the records that hold a term, upwards; `null`: they are more than asked for. */
  holders(request: HoldersRequest): Promise<readonly number[] | null>;
  /** Those of `places` whose entries come after the first `count` by order key, in any order. */
  behind(places: readonly number[], count: number): Promise<readonly number[]>;
  /** The entries at these places of an answer of `counts`, in any order. */
  entries(places: readonly number[]): Promise<readonly FoundEntry[]>;
}

export interface WordCountsRequest {
  /** The name of the collection. */
  readonly collection: string;
  readonly group: string;
  readonly terms: readonly string[];
  /** The most records that hold each of the terms. */
  readonly max: number;
  /** The most records that hold one of the terms. Absent: the provider's limit. */
  readonly unitedMax?: number;
  /** Counts bytes before the provider holds them, as `ReadCall` does. They are held until the answer is used no more. */
  readonly grow?: (bytes: number) => void;
}

export interface HoldersRequest extends Pick<WordCountsRequest, 'collection' | 'group' | 'max'> {
  readonly term: string;
}

/** The records that hold one of the terms, each once. */
export interface WordCounts {
  /** Numbers of the provider, upwards. */
  readonly places: Float64Array;
  /** The lengths of the records in the order of the places. */
  readonly lengths: Uint32Array;
  /** For each term the codes in the order of the places; -1: the record does not hold it. */
  readonly codes: readonly Int32Array[];
}

export interface SearchVector {
  /** The dimensions and a letter, such as `384a`: all vectors of a slot in a group have one length and one metric. */
  readonly slot: string;
  readonly metric: Metric;
  /** All are finite. */
  readonly values: Float32Array;
}

export type FindRequest = CountsRequest | TermRequest | NearestRequest;
export type FindPage = FoundCounts | FoundEntries | FoundNearest;

/** How many records of the group hold each term, counted up to `max`. */
export interface CountsRequest {
  readonly by: 'counts';
  /** The name of the collection. */
  readonly collection: string;
  readonly group: string;
  readonly terms: readonly string[];
  readonly max: number;
}

export interface FoundCounts {
  /** In the order of the terms. */
  readonly counts: readonly number[];
}

/** The records of the group that hold a term, in the order of the order keys of their entries. */
export interface TermRequest {
  readonly by: 'term';
  /** The name of the collection. */
  readonly collection: string;
  readonly group: string;
  readonly term: string;
  readonly limit: number;
  /** `next` of the previous page, or an order key: the page starts after it. */
  readonly after?: string;
}

export interface FoundEntries {
  readonly entries: readonly FoundEntry[];
  /** The order key of the last entry; `null` when no entry follows. */
  readonly next: string | null;
}

export interface FoundEntry {
  readonly id: string;
  readonly orderKey: string;
  readonly lexicon: string;
}

/** The records of the group whose vectors are nearest: by the score, a float32, downwards, then by listing id. */
export interface NearestRequest {
  readonly by: 'nearest';
  /** The name of the collection. */
  readonly collection: string;
  readonly group: string;
  readonly slot: string;
  readonly metric: Metric;
  readonly values: Float32Array;
  readonly limit: number;
  /** Records that the provider may read or be billed for. Vectors that a process holds in memory are not counted. */
  readonly readsMax: number;
  /** A provider may ignore it and answer for the whole group: the caller checks each record. */
  readonly among?: Among;
}

/** Conditions that every record fulfils, all of them together. The group is also that of the listing. */
export interface Among {
  readonly equal?: Readonly<Record<string, string>>;
  /** Both bounds inclusive. */
  readonly range?: { readonly index: string; readonly from?: string; readonly to?: string };
  /** The listing id begins with one of these. */
  readonly idPrefixes?: readonly string[];
}

export interface FoundNearest {
  readonly matches: readonly NearestMatch[];
  /** Whether these are proven to be the nearest. `false`: the reads did not suffice, and `matches` is not to be used. */
  readonly complete: boolean;
  /** Whether `among` was applied. */
  readonly narrowed: boolean;
  /** Records that were read or are billed. */
  readonly reads: number;
}

export interface NearestMatch {
  readonly id: string;
  readonly score: number;
}
