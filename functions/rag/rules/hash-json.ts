import { snapshotString } from '../../collections/rules/snapshot/snapshot-json.ts';
import { itemsOf, membersOf } from '../../kernel/json-slices.ts';
import { JsonText } from '../../kernel/json-value-text.ts';

/** The input of a plan hash: values of the service, and JSON texts of the request, whose numbers keep their spelling. */
export type HashValue = null | boolean | number | string | JsonText | readonly HashValue[] | HashObject;
export interface HashObject {
  readonly [member: string]: HashValue;
}

/**
 * The input text of plan and manifest hashes: members in the order of their UTF-16 units at every level, no white space, strings
 * escaped as in the hash of a snapshot, numbers as received. It is not the canonical JSON of the other hashes.
 */
export function hashJson(value: HashValue): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return JSON.stringify(value);
  if (typeof value === 'string') return snapshotString(value);
  if (value instanceof JsonText) return value.text;
  if (isList(value)) return `[${value.map(hashJson).join(',')}]`;
  return sortedObject(Object.entries(value).map(([name, each]) => [name, hashJson(each)]));
}

/** The same for a compact, valid JSON text. Its recursion is as deep as the text. */
export function hashJsonOf(text: string): JsonText {
  return new JsonText(sortedText(text));
}

function sortedText(text: string): string {
  if (text.startsWith('"')) return snapshotString(JSON.parse(text) as string);
  if (text.startsWith('[')) return `[${itemsOf(text).map(sortedText).join(',')}]`;
  if (!text.startsWith('{')) return text;
  return sortedObject(membersOf(text).map(({ name, value }) => [name, sortedText(value)]));
}

function sortedObject(members: readonly (readonly [name: string, json: string])[]): string {
  const sorted = [...members].sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([name, json]) => `${snapshotString(name)}:${json}`).join(',')}}`;
}

function isList(value: readonly HashValue[] | HashObject): value is readonly HashValue[] {
  return Array.isArray(value);
}
