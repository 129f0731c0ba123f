import { Counter, type WordFrequencies } from '../../collections/rules/inspection.ts';
import type { Json } from '../../kernel/canonical-json.ts';

const MISSING = '(missing)';

/** How often words are there; what is no text, or a blank one, counts as missing. */
export function countWords(values: Iterable<Json | undefined>): WordFrequencies {
  const counter = new Counter();
  for (const value of values) counter.add(typeof value === 'string' && value.trim() !== '' ? value : MISSING);
  return counter.counts();
}
