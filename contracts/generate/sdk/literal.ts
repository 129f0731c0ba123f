import type { Json } from '../schema.ts';

/** JSON values as literals of a language, on one line where they fit, for people to read. */
export interface Literals {
  readonly indent: string;
  readonly text: (text: string) => string;
  readonly key: (name: string) => string;
  readonly words: { readonly true: string; readonly false: string; readonly null: string };
  /** Between the braces of an object on one line. */
  readonly space: string;
  /** Whether the last member of several lines ends with a comma. */
  readonly trailing: boolean;
}

const WIDTH_MAX = 76;
const quoted = (text: string) => JSON.stringify(text);
const single = (text: string) =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll(String.raw`\"`, '"').replaceAll("'", String.raw`\'`)}'`;
const words = { true: 'true', false: 'false', null: 'null' };

export const JSON_LITERALS: Literals = {
  indent: '  ',
  text: quoted,
  key: quoted,
  words,
  space: ' ',
  trailing: false,
};

export const TYPESCRIPT_LITERALS: Literals = {
  indent: '  ',
  text: single,
  key: (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : single(name)),
  words,
  space: ' ',
  trailing: true,
};

export const PYTHON_LITERALS: Literals = {
  indent: '    ',
  text: quoted,
  key: quoted,
  words: { true: 'True', false: 'False', null: 'None' },
  space: '',
  trailing: true,
};

/** `before`: the indentation of the line on which the literal starts. */
export function literal(value: Json, style: Literals, before = ''): string {
  if (value === null) return style.words.null;
  if (typeof value === 'boolean') return value ? style.words.true : style.words.false;
  if (typeof value === 'string') return style.text(value);
  if (typeof value !== 'object') return String(value);
  const list = Array.isArray(value);
  const entries: readonly (readonly [string, Json])[] = list
    ? value.map((item: Json) => ['', item] as const)
    : Object.entries(value).map(([name, item]) => [`${style.key(name)}: `, item] as const);
  const [open, close] = list ? ['[', ']'] : ['{', '}'];
  if (entries.length === 0) return `${open}${close}`;
  const space = list ? '' : style.space;
  const line = entries.map(([name, item]) => name + literal(item, style)).join(', ');
  const flat = `${open}${space}${line}${space}${close}`;
  if (!flat.includes('\n') && before.length + flat.length <= WIDTH_MAX) return flat;
  const inner = before + style.indent;
  const members = entries.map(([name, item]) => `${inner}${name}${literal(item, style, inner)}`);
  return `${open}\n${members.join(',\n')}${style.trailing ? ',' : ''}\n${before}${close}`;
}
