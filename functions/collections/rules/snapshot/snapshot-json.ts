import { isOrderedObject, type OrderedJson } from './ordered-json.ts';

/** All characters except the printable ASCII characters that need no escape. */
const escaped = /[^ !#-%(-*,-;=?-[\]-_a-~]/g;
const shortEscapes: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\b': '\\b',
  '\f': '\\f',
};

/** Compact ASCII JSON in the order of the document, for the hash of a snapshot. */
export function snapshotJson(value: OrderedJson): string {
  if (typeof value === 'string') return snapshotString(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (isOrderedObject(value))
    return snapshotObject([...value].map(([name, each]) => [name, snapshotJson(each)]));
  return `[${value.map(snapshotJson).join(',')}]`;
}

/** An object of these members, whose values are JSON already. */
export function snapshotObject(members: readonly (readonly [name: string, json: string])[]): string {
  return `{${members.map(([name, json]) => `${snapshotString(name)}:${json}`).join(',')}}`;
}

export function snapshotString(text: string): string {
  return `"${text.replace(escaped, escapeUnit)}"`;
}

/** Surrogates are escaped one by one. */
function escapeUnit(unit: string): string {
  const code = unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  return shortEscapes[unit] ?? `\\u${code}`;
}
