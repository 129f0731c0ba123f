import { type EntryFormat, entryFormats } from './formats.ts';
import type { LexicalQuery } from './lexical-query.ts';
import type { CandidateReading } from './reader.ts';

/** Counts are asked for no further than this: terms of more records are walked in the order of their texts. */
export const COUNT_MAX = 10_000;
/** Long words are rare, so a phrase is looked for by one of its longest. */
const COUNTED_WORDS_MAX = 4;

/** How the candidates of a query are found. */
export interface LexicalPlan {
  /** Terms whose numbers of records decide the walk; none where there is nothing to decide. */
  readonly counted: readonly string[];
  readonly countMax: number;
  /** `counts` are in the order of `counted`. */
  walk(counts: readonly number[]): CandidateWalk;
}

/** Each offers all candidates and perhaps other records. A record that is offered twice counts where it comes first. */
export type CandidateWalk =
  /** The records of each term, term by term. The last term of each format has those that lack one of the others. */
  | {
      readonly source: 'inverted_index';
      readonly terms: readonly WalkedTerm[];
      readonly demand: WalkedDemand;
    }
  /** The records of the collection in the order of its listing: no index holds prefixes so short, or the query has no words. */
  | { readonly source: 'scan' };

/** @testonly */
export interface WalkedTerm {
  readonly term: string;
  /** How many alternatives have this term or a later one: no record behind the terms before holds more of them. */
  readonly held: number;
}

/** Whose alternatives are walked: those of the query, those of a required group, or one that each candidate holds. */
export type WalkedDemand = 'asked' | 'one' | { readonly group: number };

/** Each choice leads to all records that fulfil an alternative: its terms together do. No choice: no terms do. */
type Alternative = readonly Choice[];
/** For each format of the entries its terms. */
type Choice = readonly (readonly string[])[];
/** A record fulfils at least one of the alternatives. */
interface Demand {
  readonly alternatives: readonly Alternative[];
  readonly walked: WalkedDemand;
}

/**
 * `formats`: those that the entries of the collection have. The same on every provider, so that a scan limit cuts the same
 * candidates off.
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

/** What every candidate fulfils. */
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

/** Of a record of very many terms, those of whole words are kept before those of prefixes: its exact words are found. */
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
