import { splitsCodePoint } from './white-space.ts';

/** What marks a text that goes on. */
const MORE = '...';

/** The beginning of a text, as much of it as a budget has room for. */
export interface Excerpt {
  readonly text: string;
  /** How much of the text it has, in UTF-16 units. */
  readonly charEnd: number;
  readonly truncated: boolean;
}

/** At most `budget` UTF-16 units, with the mark of what follows where it has room. It splits no code point. */
export function excerptOf(text: string, budget: number): Excerpt {
  if (text.length <= budget) return { text, charEnd: text.length, truncated: false };
  const mark = budget > MORE.length ? MORE : '';
  const room = Math.max(0, budget - mark.length);
  const charEnd = splitsCodePoint(text, room) ? room - 1 : room;
  return { text: text.slice(0, charEnd) + mark, charEnd, truncated: true };
}
