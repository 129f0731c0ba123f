import { isDeepStrictEqual } from 'node:util';

const WIDTH = 110;

/** The text of a JSON file with one more item at the end of a list, its last member. The rest of the text stays as it is. */
export function withItem(text: string, member: string, item: object): string {
  const before = parsed<Readonly<Record<string, readonly object[]>>>(text);
  const list = before[member] ?? [];
  const inserted = insertedInto(text, ['[', ']'], list.length, [expanded(item, INDENT)]);
  return checked(inserted, { ...before, [member]: [...list, item] });
}

/** The text of a JSON file with more members at the end of an object, its last member. */
export function withMembers(text: string, member: string, members: Readonly<Record<string, object>>): string {
  const before = parsed<Readonly<Record<string, object>>>(text);
  const object = before[member] ?? {};
  const added = Object.entries(members).map(([name, value]) => `"${name}": ${expanded(value, INDENT)}`);
  const inserted = insertedInto(text, ['{', '}'], Object.keys(object).length, added);
  return checked(inserted, { ...before, [member]: { ...object, ...members } });
}

const INDENT = '    ';

function insertedInto(
  text: string,
  [open, close]: readonly [string, string],
  count: number,
  parts: readonly string[],
): string {
  const end = count === 0 ? `${open}${close}\n}\n` : `\n  ${close}\n}\n`;
  const begin = count === 0 ? `${open}\n` : ',\n';
  const added = parts.map((part) => `${INDENT}${part}`).join(',\n');
  return `${text.slice(0, -end.length)}${begin}${added}\n  ${close}\n}\n`;
}

function checked(text: string, expected: unknown): string {
  if (isDeepStrictEqual(parsed(text), expected)) return text;
  throw new Error('the list or object must be the last member of its file');
}

function parsed<T>(text: string): T {
  return JSON.parse(text) as T;
}

/** A JSON value as the formatter leaves it: on one line where it fits. */
function compact(value: unknown, indent: string, used: number): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const line = flat(value);
  return line.length + indent.length + used + 1 <= WIDTH ? line : expanded(value, indent);
}

function expanded(value: object, indent: string): string {
  const inner = `${indent}  `;
  const lines = Array.isArray(value)
    ? value.map((item) => `${inner}${compact(item, inner, 0)}`)
    : Object.entries(value).map(
        ([name, item]) => `${inner}"${name}": ${compact(item, inner, name.length + 4)}`,
      );
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`;
}

function flat(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(flat).join(', ')}]`;
  const members = Object.entries(value).map(([name, item]) => `"${name}": ${flat(item)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}
