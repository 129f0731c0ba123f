import { isDeepStrictEqual } from 'node:util';
import { parseJson } from '../../../functions/kernel/json-text.ts';

/**
 * Sets one value in a JSON text and leaves every other character as it is. Throws an Error that says why that cannot be done.
 */
export function withJsonValue(text: string, path: readonly string[], value: unknown): string {
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : '';
  const json = text.slice(mark.length);
  const given = json.trim() === '' ? '{}\n' : json;
  checkJson(given);
  return `${mark}${set(given, given.search(/\S/), path, value, 1)}`;
}

/** The object at the path; an empty one where there is none, as in a broken text. */
export function jsonObjectAt(text: string, path: readonly string[]): Readonly<Record<string, unknown>> {
  try {
    const root = parseJson(text.replace(/^\uFEFF/, ''));
    const found = path.reduce<unknown>(
      (value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
      root,
    );
    return isObject(found) ? found : {};
  } catch {
    return {};
  }
}

function checkJson(text: string): void {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw new Error('it is not JSON, or has comments');
  }
  if (!isObject(value)) throw new Error('it holds no JSON object');
}

function set(
  text: string,
  open: number,
  [name = '', ...deeper]: readonly string[],
  value: unknown,
  depth: number,
): string {
  const members = membersAt(text, open);
  const found = members.filter((member) => member.name === name);
  const [member] = found;
  if (found.length > 1) throw new Error(`${name} stands in it twice`);
  if (member === undefined) {
    const whole = deeper.reduceRight<unknown>((inner, each) => ({ [each]: inner }), value);
    return inserted(
      text,
      open,
      members.at(-1)?.end,
      `${JSON.stringify(name)}: ${jsonOf(text, whole, depth)}`,
      depth,
    );
  }
  if (deeper.length > 0) {
    if (text[member.start] !== '{') throw new Error(`${name} is no object in it`);
    return set(text, member.start, deeper, value, depth + 1);
  }
  const old: unknown = JSON.parse(text.slice(member.start, member.end));
  if (isDeepStrictEqual(old, value)) return text;
  return `${text.slice(0, member.start)}${jsonOf(text, value, depth)}${text.slice(member.end)}`;
}

function inserted(
  text: string,
  open: number,
  last: number | undefined,
  member: string,
  depth: number,
): string {
  const { unit, feed } = styleOf(text);
  const line = `${feed}${unit.repeat(depth)}${member}`;
  if (last !== undefined) return `${text.slice(0, last)},${line}${text.slice(last)}`;
  const close = text.indexOf('}', open);
  return `${text.slice(0, open + 1)}${line}${feed}${unit.repeat(depth - 1)}${text.slice(close)}`;
}

function jsonOf(text: string, value: unknown, depth: number): string {
  const { unit, feed } = styleOf(text);
  return JSON.stringify(value, null, unit).replaceAll('\n', `${feed}${unit.repeat(depth)}`);
}

function styleOf(text: string): { readonly unit: string; readonly feed: string } {
  const unit = /\n([ \t]+)"/.exec(text)?.[1] ?? '  ';
  return { unit, feed: text.includes('\r\n') ? '\r\n' : '\n' };
}

interface Member {
  readonly name: string;
  /** The place of the value. */
  readonly start: number;
  readonly end: number;
}

/** The members of the object that opens at `open`, in a text that is valid JSON. */
function membersAt(text: string, open: number): readonly Member[] {
  const members: Member[] = [];
  for (let at = placeOf(text, open + 1); text[at] !== '}'; ) {
    if (text[at] === ',') at = placeOf(text, at + 1);
    const nameEnd = endOf(text, at);
    const name = JSON.parse(text.slice(at, nameEnd)) as string;
    const start = placeOf(text, placeOf(text, nameEnd) + 1);
    const end = endOf(text, start);
    members.push({ name, start, end });
    at = placeOf(text, end);
  }
  return members;
}

/** The first place from `at` on that is no white space. */
function placeOf(text: string, at: number): number {
  let place = at;
  while (/\s/.test(text[place] ?? '')) place += 1;
  return place;
}

/** The place behind the value that begins at `at`. */
function endOf(text: string, at: number): number {
  let depth = 0;
  for (let place = at; place < text.length; place += 1) {
    const character = text[place] ?? '';
    if (character === '"') place = quoteEnd(text, place);
    else if ('{['.includes(character)) depth += 1;
    else if ('}]'.includes(character)) depth -= 1;
    else if (/[^\s,:]/.test(character) && /[\s,}\]]/.test(text[place + 1] ?? ' ') && depth === 0)
      return place + 1;
    else continue;
    if (depth === 0) return place + 1;
  }
  return text.length;
}

function quoteEnd(text: string, open: number): number {
  let at = open + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
