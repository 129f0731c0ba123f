import { finished } from './turns.ts';

/**
 * Cuts a JSON text into the texts of its members or items, so that a value keeps the order of its members and the spelling of
 * its numbers, which objects of JavaScript do not. The text must be valid JSON without white space around its tokens.
 */
export interface JsonMember {
  readonly name: string;
  readonly value: string;
}

/** Of them a step takes less than a millisecond. */
const STEP_MEMBERS = 1_024;

const space = /[ \n\r\t]/;
const spaces = /[ \n\r\t]/g;

/** A valid JSON text without white space around its tokens. */
export function compactJson(text: string): string {
  return finished(compactInSteps(text));
}

/** The same, in steps. */
export function* compactInSteps(text: string): Generator<void, string> {
  if (!space.test(text)) return text;
  const kept: string[] = [];
  // A pattern for strings and spaces takes quadratic time on texts without a closing quote.
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at);
    kept.push(text.slice(at, quote < 0 ? text.length : quote).replace(spaces, ''));
    if (quote < 0) break;
    at = endOfString(text, quote);
    kept.push(text.slice(quote, at));
    if (kept.length % (2 * STEP_MEMBERS) === 0) yield;
  }
  return kept.join('');
}

/** The members of an object in the order of the text. */
export function membersOf(text: string): JsonMember[] {
  return finished(membersInSteps(text));
}

/** The same, in steps: an object may have a hundred thousand members. */
export function* membersInSteps(text: string): Generator<void, JsonMember[]> {
  const members: JsonMember[] = [];
  for (let at = 1; text[at] !== '}'; ) {
    if (text[at] === ',') at += 1;
    const nameEnd = endOfValue(text, at);
    const end = endOfValue(text, nameEnd + 1);
    members.push({
      name: JSON.parse(text.slice(at, nameEnd)) as string,
      value: text.slice(nameEnd + 1, end),
    });
    if (members.length % STEP_MEMBERS === 0) yield;
    at = end;
  }
  return members;
}

/** The items of an array. */
export function itemsOf(text: string): string[] {
  const items: string[] = [];
  for (let at = 1; text[at] !== ']'; ) {
    if (text[at] === ',') at += 1;
    const end = endOfValue(text, at);
    items.push(text.slice(at, end));
    at = end;
  }
  return items;
}

/** The text of an object of these members. */
export function objectOf(members: readonly JsonMember[]): string {
  return finished(objectInSteps(members));
}

/** The same, in steps. */
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
/** A pattern passes over the numbers of a vector many times as fast as a loop. */
const bracketOrQuote = /["[\]{}]/g;
/** What ends a number or word within its container. */
const separator = /[,\]}]/g;

/** The position behind the value that begins at `start`. Throws a SyntaxError where the text ends in it. */
function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start);
  const isContainer = first === 0x7b || first === 0x5b;
  const places = isContainer ? bracketOrQuote : separator;
  places.lastIndex = start;
  for (let depth = 0; places.test(text); ) {
    const behind = places.lastIndex;
    if (!isContainer) return behind - 1;
    const code = text.charCodeAt(behind - 1);
    if (code === QUOTE) {
      places.lastIndex = endOfString(text, behind - 1);
      continue;
    }
    depth += code === 0x7b || code === 0x5b ? 1 : -1;
    if (depth === 0) return behind;
  }
  throw new SyntaxError('the JSON text ends within a value');
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end;
    while (text.charCodeAt(before - 1) === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 0) return end + 1;
  }
  throw new SyntaxError('the JSON text ends within a string');
}
