import { splitsCodePoint } from './white-space.ts';

/** The mark at the end of a truncated text. */
const MORE = '...';

/** The beginning of a text that fits a budget. */
export interface Excerpt {
  readonly text: string;
  /** The length of the included text, in UTF-16 units. */
  readonly charEnd: number;
  readonly truncated: boolean;
}

/** At most `budget` UTF-16 units, with the mark of truncation if it fits. It splits no code point. */
export function excerptOf(text: string, budget: number): Excerpt {
  if (text.length <= budget) return { text, charEnd: text.length, truncated: false };
  const mark = budget > MORE.length ? MORE : '';
  const room = Math.max(0, budget - mark.length);
  const charEnd = splitsCodePoint(text, room) ? room - 1 : room;
  return { text: text.slice(0, charEnd) + mark, charEnd, truncated: true };
}
