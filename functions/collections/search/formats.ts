import type { Incarnation } from '../rules/incarnation.ts';
import type { CollectionPolicy } from '../rules/policy.ts';
import { type RecordSearch, type SearchedRecord, searchEntryOf } from './entry.ts';
import { type VectorSlot, vectorSlots } from './slots.ts';
import { moreTerm, prefixTerm, wordTerm } from './terms.ts';

/** The format of search entries of one version. Every change of terms, lexicons or slots needs a new version. */
export interface EntryFormat {
  readonly version: number;
  /** The characters with which lexicons of this format begin. No other format uses them. */
  readonly marks: string;
  /** The search entry of a record, the same on every provider; in steps, because a record may be long. */
  entryOf(
    record: SearchedRecord,
    policy: CollectionPolicy,
    incarnation: Incarnation,
  ): Generator<void, RecordSearch>;
  /** The term of all records that hold the word. */
  wordTerm(word: string): string;
  /** A term of all records that hold a word with this prefix, and perhaps of others; `null` if the prefix is too short. */
  prefixTerm(prefix: string): string | null;
  /** The term of all records that may lack one of these terms in the index. */
  moreTerm(terms: readonly string[]): string;
  /** A stored lexicon of this format in the form that `lexiconOf` makes. */
  lexicon(stored: string): string;
  /** The slots of a collection by the names of its vectors. If two formats share a slot, it has the same name in both. */
  slots(policy: CollectionPolicy): ReadonlyMap<string, VectorSlot>;
}

/** The formats that a release knows: its own, and before it that of the release before. */
export type EntryFormats = readonly [EntryFormat] | readonly [EntryFormat, EntryFormat];

const formatOne: EntryFormat = {
  version: 1,
  marks: '=~',
  entryOf: searchEntryOf,
  wordTerm,
  prefixTerm,
  moreTerm,
  lexicon: (stored) => stored,
  slots: vectorSlots,
};

/** The formats of this release. */
export const entryFormats: EntryFormats = [formatOne];

export function newestFormat(formats: EntryFormats = entryFormats): EntryFormat {
  return formats.at(-1) ?? formats[0];
}
