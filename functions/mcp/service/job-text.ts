import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { isJsonList, isJsonObject } from '../../kernel/json-kinds.ts';
import { HIDDEN_CHARACTERS, lineJson } from './line-json.ts';

/** The most characters of one value, of one line, and of the whole text. */
const VALUE_MAX = 300;
const LINE_MAX = 200;
const TEXT_MAX = 4_000;

/** Members of a job that say nothing about its work. */
const leftOut: ReadonlySet<string> = new Set(['admission', 'requestHash', 'payloadHash', 'retryPolicy']);

/**
 * A long job for a model: its own values in one line, the objects of its result in a line each, and a line for each item of the lists, as
 * many as the text has room for. The values beside the text have all of them.
 */
export function jobText(job: JsonObject): string {
  const shown = Object.fromEntries(Object.entries(job).filter(([name]) => !leftOut.has(name)));
  const lines = [lineJson(plainMembers(shown)).slice(0, TEXT_MAX)];
  let left = TEXT_MAX - (lines[0]?.length ?? 0);
  const write = (line: string): boolean => {
    if (line.length + 1 > left) return false;
    left -= line.length + 1;
    lines.push(line);
    return true;
  };
  for (const [name, member] of membersBelow(shown)) {
    if (!isJsonList(member)) {
      write(`${name}: ${excerpt(plainMembers(member))}`);
      continue;
    }
    if (!write(`${name}: ${member.length} items`)) continue;
    const rest = member.findIndex((item, at) => !write(`${at + 1}. ${excerpt(item)}`));
    if (rest !== -1) lines.push(`The text has ${rest} of these ${member.length} items.`);
  }
  return lines.join('\n');
}

/** The members that are neither objects nor lists nor null, with short texts. */
function plainMembers(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      if (member === null || typeof member === 'object') return [];
      return [[name, typeof member === 'string' ? cut(member, VALUE_MAX) : member] as const];
    }),
  );
}

type Named = readonly [name: string, member: JsonObject | readonly Json[]];

/** The objects and lists of the first two levels, by their names. */
function membersBelow(job: JsonObject): readonly Named[] {
  return structuresOf(job).flatMap(([name, member]): readonly Named[] => {
    if (isJsonList(member)) return [[name, member]];
    const below = structuresOf(member);
    return [[name, member], ...below.map(([inner, each]): Named => [`${name}.${inner}`, each])];
  });
}

function structuresOf(value: JsonObject): readonly Named[] {
  return Object.entries(value).flatMap(([name, member]): readonly Named[] =>
    isJsonList(member) || isJsonObject(member) ? [[label(name), member]] : [],
  );
}

/** A name of the tenant keeps to its line. */
function label(name: string): string {
  return /^\w{1,100}$/.test(name) ? name : cut(lineJson(name), LINE_MAX);
}

function excerpt(value: Json): string {
  return cut(lineJson(value), LINE_MAX);
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`;
}

/** A text of the tenant as one line of at most `most` characters, without hidden ones. */
export function plainLine(text: string, most: number): string {
  return text
    .slice(0, 4 * most)
    .toWellFormed()
    .replace(/[\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replace(HIDDEN_CHARACTERS, '')
    .trim()
    .slice(0, most)
    .toWellFormed();
}
