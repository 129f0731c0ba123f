import { isDeepStrictEqual } from 'node:util';

const WIDTH = 110;

/** The text of a group file with one more entry at its end. The rest of the text stays as it is. */
export function withEntry(text: string, entry: object): string {
  const { operations, ...group } = JSON.parse(text) as { readonly operations: readonly object[] };
  const indent = '    ';
  const end = operations.length === 0 ? '[]\n}\n' : '\n  ]\n}\n';
  const begin = operations.length === 0 ? '[\n' : ',\n';
  const added = `${text.slice(0, -end.length)}${begin}${indent}${expanded(entry, indent)}\n  ]\n}\n`;
  if (!isDeepStrictEqual(JSON.parse(added), { ...group, operations: [...operations, entry] }))
    throw new Error('the operations must be the last member of the group file');
  return added;
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
