import { isWhiteSpace, skipWhiteSpace, splitsCodePoint } from './white-space.ts';

/** The span of a chunk in its document, in UTF-16 units; `end` is exclusive. */
export interface ChunkSpan {
  readonly start: number;
  readonly end: number;
}

export interface ChunkShape {
  /** The largest size of a chunk; with size 1, a chunk may be a code point of two units. */
  readonly chunkChars: number;
  /** The most units of a chunk that the next one repeats; less than `chunkChars`. */
  readonly overlapChars: number;
}

/**
 * Cuts a well-formed text into chunks, one a step, so that the caller can let other work run in between. A chunk ends at the
 * last blank line, line end, sentence end or white space of its second half, has no white space at its ends, and splits no code point.
 */
export function* chunkSpans(
  text: string,
  { chunkChars, overlapChars }: ChunkShape,
): Generator<ChunkSpan, void> {
  // If only white space follows, the next chunk would only repeat the end of this one.
  const last = withoutTrailingSpace(text, 0, text.length);
  for (let from = 0; ; ) {
    const start = skipWhiteSpace(text, from);
    if (start >= last) return;
    const end = withoutTrailingSpace(text, start, endOf(text, start, chunkChars));
    yield { start, end };
    if (end >= last) return;
    const next = Math.max(start + 1, end - overlapChars);
    from = splitsCodePoint(text, next) ? next + 1 : next;
  }
}

function endOf(text: string, start: number, chunkChars: number): number {
  if (text.length - start <= chunkChars) return text.length;
  const most = start + chunkChars;
  const hard = splitsCodePoint(text, most) ? Math.max(most - 1, start + 1) : most;
  // The first unit of a pair alone is no chunk.
  const whole = splitsCodePoint(text, hard) ? hard + 1 : hard;
  const least = start + Math.max(1, Math.floor(chunkChars / 2));
  return breakIn(text, least, whole) ?? whole;
}

const CR = 0x0d;
const LF = 0x0a;

/** The best end of a chunk, from `least` on and before `most`; the end of a sentence may be at `most`. */
function breakIn(text: string, least: number, most: number): number | null {
  let line: number | null = null;
  let sentence: number | null = null;
  let space: number | null = null;
  for (let at = most - 1; at >= least; at -= 1) {
    const unit = text.charCodeAt(at);
    if (unit === LF) {
      if (isBlankLine(text, at, most)) return at;
      line ??= at;
    }
    if (sentence === null && isSentenceEnd(unit) && isWhiteSpace(text.charCodeAt(at + 1))) sentence = at + 1;
    if (space === null && isWhiteSpace(unit)) space = at;
  }
  return line ?? sentence ?? space;
}

/** Whether the line after the line end at `at` is empty and ends before `most`. */
function isBlankLine(text: string, at: number, most: number): boolean {
  const next = text.charCodeAt(at + 1) === CR ? at + 2 : at + 1;
  return next < most && text.charCodeAt(next) === LF;
}

function isSentenceEnd(unit: number): boolean {
  return unit === 0x2e || unit === 0x21 || unit === 0x3f;
}

function withoutTrailingSpace(text: string, start: number, end: number): number {
  let last = end;
  while (last > start && isWhiteSpace(text.charCodeAt(last - 1))) last -= 1;
  return last;
}
