import { finished } from './turns.ts';

/**
 * Cuts a JSON text into the texts of its members or items. So a value keeps the order of its members and the spelling of its
 * numbers, which JavaScript objects lose. The text must be valid JSON without white space around its tokens.
 */
export interface JsonMember {
  readonly name: string;
  readonly value: string;
}

/** Members of one step, which takes less than a millisecond. */
const STEP_MEMBERS = 1_024;
/** Characters of the items of one step, which takes about a millisecond. */
const STEP_LENGTH = 131_072;
/** Brackets and strings of one value in one step. */
const STEP_PLACES = 16_384;

const space = /[ \n\r\t]/;
const spaces = /[ \n\r\t]/g;

/** A valid JSON text without white space around its tokens. */
export function compactJson(text: string): string {
  return finished(compactInSteps(text));
}

/** As `compactJson`, in steps. */
export function* compactInSteps(text: string): Generator<void, string> {
  if (!space.test(text)) return text;
  const parts: string[] = [];
  let kept: string[] = [];
  let step = STEP_LENGTH;
  // A single pattern for strings and spaces would take quadratic time on texts without a closing quote.
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at);
    kept.push(text.slice(at, quote < 0 ? text.length : quote).replace(spaces, ''));
    if (quote < 0) break;
    at = endOfString(text, quote);
    kept.push(text.slice(quote, at));
    if (kept.length < 2 * STEP_MEMBERS && at < step) continue;
    // Join in parts: one join of two million pieces would block the process.
    parts.push(kept.join(''));
    kept = [];
    step = at + STEP_LENGTH;
    yield;
  }
  return parts.join('') + kept.join('');
}

/** The members of an object in the order of the text. */
export function membersOf(text: string): JsonMember[] {
  return finished(membersInSteps(text));
}

/** As `membersOf`, in steps: an object may have a hundred thousand members. */
export function* membersInSteps(text: string): Generator<void, JsonMember[]> {
  const members: JsonMember[] = [];
  let step = STEP_LENGTH;
  for (let at = 1; text[at] !== '}'; ) {
    if (text[at] === ',') at += 1;
    const nameEnd = endOfString(text, at);
    const end = yield* endOfValue(text, nameEnd + 1);
    members.push({
      name: nameIn(text, at, nameEnd),
      value: text.slice(nameEnd + 1, end),
    });
    at = end;
    if (members.length % STEP_MEMBERS !== 0 && at < step) continue;
    step = at + STEP_LENGTH;
    yield;
  }
  return members;
}

/** Few names have an escape, and the parser takes ten times as long. */
function nameIn(text: string, start: number, end: number): string {
  const name = text.slice(start + 1, end - 1);
  return name.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : name;
}

/** The items of an array. */
export function itemsOf(text: string): string[] {
  return finished(itemsInSteps(text));
}

/** As `itemsOf`, in steps: an array may have 32 MB. */
export function* itemsInSteps(text: string): Generator<void, string[]> {
  const items: string[] = [];
  let step = STEP_LENGTH;
  for (let at = 1; text[at] !== ']'; ) {
    if (text[at] === ',') at += 1;
    const end = yield* endOfValue(text, at);
    items.push(text.slice(at, end));
    at = end;
    if (at < step) continue;
    step = at + STEP_LENGTH;
    yield;
  }
  return items;
}

/** The text of an object of these members. */
export function objectOf(members: readonly JsonMember[]): string {
  return finished(objectInSteps(members));
}

/** As `objectOf`, in steps. */
export function* objectInSteps(members: readonly JsonMember[]): Generator<void, string> {
  const texts: string[] = [];
  for (const { name, value } of members) {
    texts.push(`${JSON.stringify(name)}:${value}`);
    if (texts.length % STEP_MEMBERS === 0) yield;
  }
  return `{${texts.join(',')}}`;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** A regular expression skips the numbers of a vector many times as fast as a loop. */
const bracketOrQuote = /["[\]{}]/g;
/** The characters that end a number or word within its container. */
const separator = /[,\]}]/g;

/** The position after the value that begins at `start`. Throws a SyntaxError if the text ends within it. */
function* endOfValue(text: string, start: number): Generator<void, number> {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start);
  if (first === 0x7b || first === 0x5b) return yield* endOfContainer(text, start);
  separator.lastIndex = start;
  if (separator.test(text)) return separator.lastIndex - 1;
  throw new SyntaxError('the JSON text ends within a value');
}

function* endOfContainer(text: string, start: number): Generator<void, number> {
  let [at, depth, places] = [start, 0, 0];
  for (;;) {
    // Other work may use the pattern between two steps.
    bracketOrQuote.lastIndex = at;
    if (!bracketOrQuote.test(text)) throw new SyntaxError('the JSON text ends within a value');
    at = bracketOrQuote.lastIndex;
    const code = text.charCodeAt(at - 1);
    if (code === QUOTE) at = endOfString(text, at - 1);
    else depth += code === 0x7b || code === 0x5b ? 1 : -1;
    if (depth === 0) return at;
    places += 1;
    if (places % STEP_PLACES === 0) yield;
  }
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end;
    while (text.charCodeAt(before - 1) === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 0) return end + 1;
  }
  throw new SyntaxError('the JSON text ends within a string');
}
