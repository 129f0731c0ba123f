import type { Incarnation } from '../rules/incarnation.ts';
import type { CollectionPolicy } from '../rules/policy.ts';
import { type RecordSearch, type SearchedRecord, searchEntryOf } from './entry.ts';
import { type VectorSlot, vectorSlots } from './slots.ts';
import { moreTerm, prefixTerm, wordTerm } from './terms.ts';

/** What depends on the version of a search entry. It gets a new version with every change of its terms, lexicons or slots. */
export interface EntryFormat {
  readonly version: number;
  /** The characters that its lexicons begin with. No other format has one of them. */
  readonly marks: string;
  /** How searches find the record, the same on every provider. In steps: a record may be long. */
  entryOf(
    record: SearchedRecord,
    policy: CollectionPolicy,
    incarnation: Incarnation,
  ): Generator<void, RecordSearch>;
  /** The term of all records that hold the word. */
  wordTerm(word: string): string;
  /** The term of all records that hold a word with this prefix, and perhaps of more; `null`: no term serves so short a prefix. */
  prefixTerm(prefix: string): string | null;
  /** The term of all records that may lack one of these terms in the index. */
  moreTerm(terms: readonly string[]): string;
  /** A lexicon of the format, as `lexiconOf` makes it. */
  lexicon(stored: string): string;
  /** The slots of a collection by the names of its vectors. A slot of two formats is that of one name in both. */
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

/** Those of this release. */
export const entryFormats: EntryFormats = [formatOne];

export function newestFormat(formats: EntryFormats = entryFormats): EntryFormat {
  return formats.at(-1) ?? formats[0];
}
