import { Counter, type WordFrequencies } from '../../collections/rules/inspection.ts';
import type { Json } from '../../kernel/canonical-json.ts';

const MISSING = '(missing)';

/** Counts values by their text; a value that is no text, or blank, counts as missing. */
export function countWords(values: Iterable<Json | undefined>): WordFrequencies {
  const counter = new Counter();
  for (const value of values) counter.add(typeof value === 'string' && value.trim() !== '' ? value : MISSING);
  return counter.counts();
}
