import { limits } from '../../../contracts/generated/limits.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { hasCharacters } from './characters.ts';
import { type FieldSelection, readFields } from './fields.ts';
import { single, wholeNumber } from './numbers.ts';
import { type QueryWords, readQueryWords } from './query-words.ts';
import { normalText, wordsOf } from './words.ts';

const GROUPS_MAX = limits.searchPhraseGroupsMax;
const PHRASES_MAX = limits.searchPhrasesPerGroupMax;
const PHRASE_CHARACTERS_MAX = limits.searchPhraseLengthMax;

/** The lexical search of a request, whose members have the types that its schema names. */
export interface LexicalRequest {
  readonly query?: string | null;
  readonly fields?: readonly string[] | null;
  readonly top?: number | null;
  readonly scanLimit?: number | null;
  readonly minScore?: number | null;
  readonly scoring?: string | null;
  readonly matchMode?: string | null;
  readonly fieldBoosts?: Readonly<Record<string, number>> | null;
  readonly bm25K1?: number | null;
  readonly bm25B?: number | null;
  readonly phraseBoost?: number | null;
  readonly exactBoost?: number | null;
  readonly metadataBoost?: number | null;
  readonly prefixMatching?: boolean | null;
  readonly prefixMinChars?: number | null;
  readonly requiredPhraseGroups?: readonly (readonly string[])[] | null;
}

/** A lexical search with all defaults filled in. */
export interface LexicalQuery extends QueryWords, FieldSelection {
  readonly top: number;
  /** The most candidates that are scored. */
  readonly scanLimit: number;
  /** Whether the request set `scanLimit`, or the deployment, which allows no more. */
  readonly scanLimitFrom: 'request' | 'deployment';
  /** The highest `scanLimit` that the deployment allows. */
  readonly scanLimitMax: number;
  /** A float32, as scores are. */
  readonly minScore: number | null;
  readonly scoring: 'bm25' | 'coverage';
  readonly matchMode: 'any' | 'all';
  readonly k1: number;
  readonly b: number;
  readonly boosts: Boosts;
  /** For each term, whether it also matches longer words that begin with it. */
  readonly isPrefix: readonly boolean[];
  /** A record must hold one phrase of each group: words joined by one space. */
  readonly requiredGroups: readonly (readonly string[])[];
}

/** The boosts of a score, in float32. */
interface Boosts {
  readonly phrase: number;
  readonly exact: number;
  readonly metadata: number;
}

/**
 * Reads a lexical search. `candidatesMax` is the limit of the deployment. Throws `validation_failed` or `limit_exceeded` naming the
 * member below `pointer`.
 */
export function readLexicalQuery(
  request: LexicalRequest,
  candidatesMax: number,
  pointer = '/lexical',
): LexicalQuery {
  const { query, minScore } = request;
  if (typeof query !== 'string' || query.trim() === '')
    throw invalidMember(`${pointer}/query`, 'must not be blank');
  const words = readQueryWords(query, `${pointer}/query`);
  const scanLimit = wholeNumber(request.scanLimit ?? limits.searchScanLimitDefault, `${pointer}/scanLimit`);
  return {
    ...words,
    ...readFields(request.fields, request.fieldBoosts, pointer),
    top: wholeNumber(request.top ?? limits.searchLexicalTopDefault, `${pointer}/top`),
    scanLimit: Math.min(scanLimit, candidatesMax),
    scanLimitFrom: scanLimit <= candidatesMax ? 'request' : 'deployment',
    scanLimitMax: candidatesMax,
    minScore: minScore === null || minScore === undefined ? null : single(minScore, `${pointer}/minScore`),
    scoring: oneOf(['bm25', 'coverage'], request.scoring, `${pointer}/scoring`),
    matchMode: oneOf(['any', 'all'], request.matchMode, `${pointer}/matchMode`),
    ...readSaturation(request, pointer),
    boosts: readBoosts(request, pointer),
    isPrefix: readPrefixes(request, words.terms, pointer),
    requiredGroups: readGroups(request.requiredPhraseGroups ?? [], `${pointer}/requiredPhraseGroups`),
  };
}

function readSaturation({ bm25K1, bm25B }: LexicalRequest, pointer: string): { k1: number; b: number } {
  const k1 = bm25K1 ?? 1.2;
  const b = bm25B ?? 0.75;
  if (!(k1 > 0) || !Number.isFinite(Math.fround(k1)))
    throw invalidMember(`${pointer}/bm25K1`, 'must be a float32 above 0');
  if (!(b >= 0 && b <= 1)) throw invalidMember(`${pointer}/bm25B`, 'must be from 0 to 1');
  return { k1, b };
}

function readBoosts(request: LexicalRequest, pointer: string): Boosts {
  const { phraseBoost, exactBoost, metadataBoost } = request;
  const read = (value: number, name: string) => Math.max(0, single(value, `${pointer}/${name}`));
  return {
    phrase: read(phraseBoost ?? 0.15, 'phraseBoost'),
    exact: read(exactBoost ?? 0.25, 'exactBoost'),
    metadata: read(metadataBoost ?? 0.1, 'metadataBoost'),
  };
}

function readPrefixes(
  { prefixMatching, prefixMinChars }: LexicalRequest,
  terms: readonly string[],
  pointer: string,
): readonly boolean[] {
  const least = wholeNumber(prefixMinChars ?? 3, `${pointer}/prefixMinChars`);
  return terms.map((term) => prefixMatching === true && hasCharacters(term, least));
}

function readGroups(groups: readonly (readonly string[])[], pointer: string): readonly (readonly string[])[] {
  if (groups.length > GROUPS_MAX)
    throw invalidMember(pointer, `must have at most ${GROUPS_MAX} groups`, 'limit_exceeded');
  return groups.map((phrases, index) => {
    const place = `${pointer}/${index}`;
    if (phrases.length === 0) throw invalidMember(place, 'must have a phrase');
    if (phrases.length > PHRASES_MAX)
      throw invalidMember(place, `must have at most ${PHRASES_MAX} phrases`, 'limit_exceeded');
    return [...new Set(phrases.map((phrase, at) => readPhrase(phrase, `${place}/${at}`)))];
  });
}

function readPhrase(phrase: string, pointer: string): string {
  const words = wordsOf(normalText(phrase)).join(' ');
  if (words === '') throw invalidMember(pointer, 'must have a word');
  if (hasCharacters(words, PHRASE_CHARACTERS_MAX + 1)) {
    throw invalidMember(pointer, `must have at most ${PHRASE_CHARACTERS_MAX} characters`, 'limit_exceeded');
  }
  return words;
}

/** The word of the request; the first of `allowed` if it has none. */
function oneOf<Word extends string>(
  allowed: readonly [Word, ...Word[]],
  given: string | null | undefined,
  pointer: string,
): Word {
  if (given === null || given === undefined) return allowed[0];
  const word = allowed.find((each) => each === given);
  if (word === undefined) throw invalidMember(pointer, `must be one of ${allowed.join(', ')}`);
  return word;
}
