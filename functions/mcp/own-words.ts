import type { Json } from '../kernel/canonical-json.ts';

/**
 * A refusal without the texts of the arguments that it quotes: an error is words of the service, and a name may be a sentence
 * that tells a model what to do.
 */
export function ownWords(refusal: string, given: Json): string {
  // Most refusals quote nothing.
  if (!/['"]/.test(refusal)) return refusal;
  let words = refusal;
  const leaveOut = (text: string): void => {
    if (!words.includes(text) && !escaped.test(text)) return;
    for (const quoted of [`'${text}'`, `"${text}"`, JSON.stringify(text)])
      words = words.replaceAll(quoted, '(as given)');
  };
  forEachText(given, (text) => {
    leaveOut(text);
    // Operations trim ids before they look for them.
    const trimmed = text.trim();
    if (trimmed !== text) leaveOut(trimmed);
  });
  return words;
}

/** A character that JSON spells in another way. */
const escaped = /["\\\p{Cc}\p{Cs}]/u;

/** The texts at every level and the names of members. The recursion is as deep as the parser allowed. */
function forEachText(value: Json, visit: (text: string) => void): void {
  if (typeof value === 'string') visit(value);
  else if (Array.isArray(value)) for (const item of value as readonly Json[]) forEachText(item, visit);
  else if (typeof value === 'object' && value !== null)
    for (const [name, item] of Object.entries(value)) {
      visit(name);
      forEachText(item, visit);
    }
}
