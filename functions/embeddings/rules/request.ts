import { limits } from '../../../contracts/generated/limits.ts';
import { invalidMember } from '../../kernel/errors.ts';
import type { EmbeddingPrefixes, EmbeddingPurpose } from '../embedder.ts';

/** In UTF-16 units, as all lengths in this file. */
const TEXTS_MAX = limits.embeddingTextsMax;
const TEXT_LENGTH_MAX = limits.embeddingTextLengthMax;
const PREFIX_LENGTH_MAX = limits.embeddingPrefixLengthMax;

/** A request that its schema has accepted. */
export interface EmbeddingRequest {
  readonly text?: string | null;
  readonly texts?: readonly string[] | null;
  readonly purpose?: string | null;
  readonly queryPrefix?: string | null;
  readonly passagePrefix?: string | null;
  readonly symmetricPrefix?: string | null;
}

/** A checked request. */
export interface EmbeddingQuestion {
  readonly purpose: EmbeddingPurpose;
  /** The prefixes of the request; `null`: those of the model apply. */
  readonly prefixes: EmbeddingPrefixes;
  readonly texts: readonly string[];
}

/** A text in the form that the model receives. */
export interface PreparedText {
  /** The length of the text in the request. */
  readonly textLength: number;
  readonly prefixApplied: boolean;
  /** The length of the prefix, whether it was applied or not. */
  readonly prefixLength: number;
  readonly text: string;
}

/** Throws `validation_failed` or `limit_exceeded` naming the member. */
export function readEmbeddingRequest(request: EmbeddingRequest): EmbeddingQuestion {
  const { text = null, texts: list } = request;
  const texts = [...(text === null ? [] : [text]), ...(list ?? [])];
  if (texts.length === 0)
    throw list === null || list === undefined
      ? invalidMember('', 'must have `text` or `texts`')
      : invalidMember('/texts', 'must have a text');
  if (texts.length > TEXTS_MAX)
    throw invalidMember('/texts', `must be at most ${TEXTS_MAX} texts`, 'limit_exceeded');
  if (text !== null) checkText(text, '/text');
  for (const [index, each] of (list ?? []).entries()) checkText(each, `/texts/${index}`);
  const { queryPrefix = null, passagePrefix = null, symmetricPrefix = null } = request;
  for (const [name, prefix] of Object.entries({ queryPrefix, passagePrefix, symmetricPrefix }))
    checkPrefix(prefix ?? '', `/${name}`);
  const prefixes = { query: queryPrefix, passage: passagePrefix, symmetric: symmetricPrefix };
  return { purpose: readPurpose(request.purpose ?? 'symmetric', '/purpose'), prefixes, texts };
}

function checkText(text: string, pointer: string): void {
  if (text.trim() === '') throw invalidMember(pointer, 'must be a non-empty text');
  if (!text.isWellFormed()) throw invalidMember(pointer, 'must be well-formed Unicode');
  if (text.length > TEXT_LENGTH_MAX)
    throw invalidMember(pointer, `must be at most ${TEXT_LENGTH_MAX} characters`, 'limit_exceeded');
}

function checkPrefix(prefix: string, pointer: string): void {
  if (!prefix.isWellFormed()) throw invalidMember(pointer, 'must be well-formed Unicode');
  if (prefix.length > PREFIX_LENGTH_MAX)
    throw invalidMember(pointer, `must be at most ${PREFIX_LENGTH_MAX} characters`, 'limit_exceeded');
}

/** Ignores case. Throws `validation_failed` for another word. */
export function readPurpose(value: string, pointer: string): EmbeddingPurpose {
  const name = value.trim().toLowerCase();
  if (name === 'query' || name === 'passage' || name === 'document' || name === 'symmetric') return name;
  throw invalidMember(pointer, 'must be one of query, passage, document and symmetric');
}

/** The texts of a question in the form that a model with these prefixes receives. */
export function preparedTexts(
  { purpose, prefixes, texts }: EmbeddingQuestion,
  own: EmbeddingPrefixes,
): readonly PreparedText[] {
  const kind = purpose === 'document' ? 'passage' : purpose;
  const prefix = prefixes[kind] ?? own[kind] ?? '';
  return texts.map((text) => {
    const prefixApplied = prefix !== '' && !text.startsWith(prefix);
    const prepared = prefixApplied ? prefix + text : text;
    return { textLength: text.length, prefixApplied, prefixLength: prefix.length, text: prepared };
  });
}
