import type { Json } from '../kernel/canonical-json.ts';

export const AS_GIVEN = '(as given)';

/** More quotation marks than a sentence of the service has. Beyond it, all text from the first to the last mark is replaced. */
const MARKS_MAX = 64;

interface Quote {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/**
 * Replaces quotations of the arguments in a refusal. A model trusts the words of the service, and a name in the arguments may be a
 * sentence that instructs the model. One walk over the arguments, which may be large, looks for all quotations.
 */
export function ownWords(refusal: string, given: Json): string {
  const marks = marksOf(refusal);
  if (marks.length > MARKS_MAX)
    return withoutQuotes(refusal, [{ from: marks[0] ?? 0, to: (marks.at(-1) ?? 0) + 1 }]);
  const quotes = [...quotesBetween(refusal, marks), ...jsonQuotesAt(refusal, marks)];
  // Most refusals quote nothing.
  if (quotes.length === 0) return refusal;
  const repeated = textsWithin(given, new Set(quotes.map(({ text }) => text)));
  return withoutQuotes(
    refusal,
    quotes.filter(({ text }) => repeated.has(text)),
  );
}

function marksOf(refusal: string): readonly number[] {
  return Array.from(refusal.matchAll(/['"]/g), ({ index }) => index);
}

/** A quoted text may contain quotation marks, so every pair of marks may be a quotation. */
function quotesBetween(refusal: string, marks: readonly number[]): Quote[] {
  return marks.flatMap((from, at) =>
    marks
      .slice(at + 1)
      .filter((end) => refusal[end] === refusal[from] && end > from + 1)
      .map((end) => ({ from, to: end + 1, text: refusal.slice(from + 1, end) })),
  );
}

/** Quotations of texts that JSON spells with escapes. */
function jsonQuotesAt(refusal: string, marks: readonly number[]): Quote[] {
  return marks.flatMap((from) => {
    jsonText.lastIndex = from;
    const [written] = jsonText.exec(refusal) ?? [];
    return written === undefined
      ? []
      : [{ from, to: from + written.length, text: JSON.parse(written) as string }];
  });
}

const jsonText = /"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))+"/y;

/** The wanted texts that occur in the value at any level, as a string or as the name of a member. */
function textsWithin(value: Json, wanted: ReadonlySet<string>): ReadonlySet<string> {
  const found = new Set<string>();
  const lengths = new Set([...wanted].map(({ length }) => length));
  const shortest = Math.min(...lengths);
  const look = (text: string): void => {
    // The lookup hashes the text, so compare the length first.
    if (lengths.has(text.length) && wanted.has(text)) found.add(text);
  };
  forEachText(value, (text) => {
    look(text);
    if (text.length <= shortest) return;
    // Operations trim ids, so a refusal quotes the trimmed text.
    const trimmed = text.trim();
    if (trimmed.length < text.length) look(trimmed);
  });
  return found;
}

/** Replaces overlapping quotations as one, so that no part of any of them stays. */
function withoutQuotes(refusal: string, quotes: readonly Pick<Quote, 'from' | 'to'>[]): string {
  let words = '';
  let end = 0;
  for (const { from, to } of quotes.toSorted((one, other) => one.from - other.from)) {
    if (from >= end) words += `${refusal.slice(end, from)}${AS_GIVEN}`;
    end = Math.max(end, to);
  }
  return words + refusal.slice(end);
}

/** Visits the strings at every level and the names of members. The parser has bounded the depth. */
function forEachText(value: Json, visit: (text: string) => void): void {
  if (typeof value === 'string') visit(value);
  else if (Array.isArray(value)) for (const item of value as readonly Json[]) forEachText(item, visit);
  else if (typeof value === 'object' && value !== null)
    for (const [name, item] of Object.entries(value)) {
      visit(name);
      forEachText(item, visit);
    }
}
