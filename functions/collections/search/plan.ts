import { type EntryFormat, entryFormats } from './formats.ts';
import type { LexicalQuery } from './lexical-query.ts';
import type { CandidateReading } from './reader.ts';

/** Counts stop at this: terms with more records are walked in the order of their texts. */
export const COUNT_MAX = 10_000;
/** Long words are rare, so a phrase is found by one of its longest words: this number of them is counted. */
const COUNTED_WORDS_MAX = 4;

/** The plan to find the candidates of a query. */
export interface LexicalPlan {
  /** Terms whose numbers of records decide the walk; empty if there is no choice. */
  readonly counted: readonly string[];
  readonly countMax: number;
  /** `counts` are in the order of `counted`. */
  walk(counts: readonly number[]): CandidateWalk;
}

/** A walk offers all candidates and perhaps other records. A record that is offered twice counts at its first place. */
export type CandidateWalk =
  /** The records term by term. The last term of each format has the records that lack one of the others. */
  | {
      readonly source: 'inverted_index';
      readonly terms: readonly WalkedTerm[];
      readonly demand: WalkedDemand;
    }
  /** All records in the order of the listing: a prefix is too short for the index, or the query has no words. */
  | { readonly source: 'scan' };

interface WalkedTerm {
  readonly term: string;
  /** How many alternatives have this term or a later one: the most that a record not found by earlier terms can hold. */
  readonly held: number;
}

/** The walked alternatives: those of the query, those of a required group, or one that each candidate holds. */
export type WalkedDemand = 'asked' | 'one' | { readonly group: number };

/** Each choice finds all records that fulfil the alternative, by its terms together. Empty: no terms can find them. */
type Alternative = readonly Choice[];
/** The terms for each format of the entries. */
type Choice = readonly (readonly string[])[];
/** A record fulfils at least one of the alternatives. */
interface Demand {
  readonly alternatives: readonly Alternative[];
  readonly walked: WalkedDemand;
}

/**
 * Plans a lexical search. `formats` are those of the collection's entries. The plan is the same on every provider, so that a scan
 * limit excludes the same candidates.
 */
export function planLexical(
  query: LexicalQuery,
  formats: readonly EntryFormat[] = entryFormats,
): LexicalPlan {
  const demands = demandsOf(query, formats).filter(({ alternatives }) =>
    alternatives.every((choices) => choices.length > 0),
  );
  const all = new Set(demands.flatMap(({ alternatives }) => alternatives.flat(3)));
  const isDecided = all.size < 2;
  const counted = isDecided ? [] : [...all].sort(byText);
  return {
    counted,
    countMax: COUNT_MAX,
    walk: (counts) => {
      const countOf = new Map(counted.map((term, index) => [term, counts[index] ?? 0]));
      return walkOf(demands, formats, (term) =>
        isDecided ? 1 : Math.min(countOf.get(term) ?? 0, COUNT_MAX),
      );
    },
  };
}

/** The demands that every candidate fulfils. */
function demandsOf(query: LexicalQuery, formats: readonly EntryFormat[]): readonly Demand[] {
  const { phrases: quoted, looseTerms, terms, isPrefix, matchMode, requiredGroups } = query;
  const alternatives = [
    ...quoted.filter(({ words }) => words.length > 0).map(({ words }) => phraseTerms(words, formats)),
    ...looseTerms.map((term) => termsOf(term, isPrefix[terms.indexOf(term)] === true, formats)),
  ];
  const groups = requiredGroups.map(
    (phrases, group): Demand => ({
      alternatives: phrases.map((phrase) => phraseTerms(phrase.split(' '), formats)),
      walked: { group },
    }),
  );
  if (alternatives.length === 0) return groups;
  if (matchMode === 'any') return [...groups, { alternatives, walked: 'asked' }];
  return [...groups, ...alternatives.map((each): Demand => ({ alternatives: [each], walked: 'one' }))];
}

/** The terms for a word or prefix. A record with too many terms keeps those of whole words first, so these find it surely. */
function termsOf(term: string, isPrefix: boolean, formats: readonly EntryFormat[]): Alternative {
  if (!isPrefix) return [formats.map((format) => [format.wordTerm(term)])];
  const choice = formats.flatMap((format) => {
    const prefix = format.prefixTerm(term);
    return prefix === null ? [] : [[prefix, format.wordTerm(term)]];
  });
  return choice.length === formats.length ? [choice] : [];
}

function phraseTerms(words: readonly string[], formats: readonly EntryFormat[]): Alternative {
  const longest = [...new Set(words)].sort((a, b) => b.length - a.length || byText(a, b));
  return longest.slice(0, COUNTED_WORDS_MAX).map((word) => formats.map((format) => [format.wordTerm(word)]));
}

/** Walks the demand whose terms have the fewest records, the rarest term first. */
function walkOf(
  demands: readonly Demand[],
  formats: readonly EntryFormat[],
  countOf: (term: string) => number,
): CandidateWalk {
  const recordsIn = (terms: readonly string[]) => terms.reduce((sum, term) => sum + countOf(term), 0);
  const recordsOf = (choice: Choice) => recordsIn([...new Set(choice.flat())]);
  const fewestFirst = (a: Choice, b: Choice) => recordsOf(a) - recordsOf(b) || byText(firstOf(a), firstOf(b));
  const rarestFirst = (a: string, b: string) => countOf(a) - countOf(b) || byText(a, b);
  const walks = demands.map(({ alternatives, walked }) => {
    const chosen = alternatives.flatMap((choices) => [...choices].sort(fewestFirst).slice(0, 1));
    const terms = [...new Set(chosen.flat(2))].filter((term) => countOf(term) > 0).sort(rarestFirst);
    const more = formats.map((format, index) => format.moreTerm(chosen.flatMap((each) => each[index] ?? [])));
    const heldFrom = (index: number) =>
      chosen.filter((choice) => choice.flat().some((term) => terms.includes(term, index))).length;
    const held = terms.map((term, index) => ({ term, held: heldFrom(index) }));
    const all = [...held, ...[...new Set(more)].map((term) => ({ term, held: 0 }))];
    return { terms: all, walked, records: recordsIn(terms) };
  });
  const [first, ...others] = walks;
  if (first === undefined) return { source: 'scan' };
  const least = others.reduce((best, each) => (each.records < best.records ? each : best), first);
  return { source: 'inverted_index', terms: least.terms, demand: least.walked };
}

function firstOf(choice: Choice): string {
  return choice[0]?.[0] ?? '';
}

function byText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** How many of the walked alternatives a candidate holds. */
export function heldBy(
  { asked, requiredPhrases }: Pick<CandidateReading, 'asked' | 'requiredPhrases'>,
  demand: WalkedDemand,
): number {
  if (demand === 'one') return 1;
  return demand === 'asked' ? asked : (requiredPhrases[demand.group]?.length ?? 0);
}
