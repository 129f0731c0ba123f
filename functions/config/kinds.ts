import { type Entry, emptyList, type Node } from './node.ts';
import { Secret } from './secret.ts';

/** A kind reports the entries that it understood, and the faults of the others, while it reads. */
export interface KindReading {
  readonly take: (entry: Entry) => void;
  readonly refuse: (entry: Entry, message: string) => void;
}

export type Schema = Readonly<Record<string, unknown>>;

/** How the text of a setting becomes a value. */
export interface Kind<T> {
  /** For people, after the words "must be". */
  readonly expects: string;
  /** The texts that may follow the key; `<n>` stands for an index. */
  readonly tails: readonly string[];
  /** Whether all parts must come from one source: a mix of several would go unnoticed. */
  readonly oneSource: boolean;
  /** Whether any value of it is a secret. */
  readonly secret: boolean;
  /** The tails that hold a secret. */
  readonly secretTails: readonly string[];
  /** JSON Schema 2020-12 of the value in a settings file, for editors. */
  readonly schema: Schema;
  read(node: Node, reading: KindReading): T | undefined;
}

interface Scalar<T> {
  readonly expects: string;
  readonly schema: Schema;
  readonly secret?: boolean;
  /** Whether a refusal shows the given value; never for a secret. */
  readonly quoted?: boolean;
  /** Whether white space at its ends belongs to the value. */
  readonly spaced?: boolean;
  readonly parse: (text: string) => T | undefined;
}

function scalar<T>(rules: Scalar<T>): Kind<T> {
  const { expects, schema, secret = false, quoted = !secret, spaced = false, parse } = rules;
  return {
    expects,
    tails: [''],
    oneSource: false,
    secret,
    secretTails: secret ? [''] : [],
    schema,
    read(node, reading) {
      const entry = node.entry;
      if (entry === undefined) return undefined;
      reading.take(entry);
      const value = entry.hollow ? undefined : parse(spaced ? entry.value : entry.value.trim());
      const shown = !quoted ? '' : `, not ${JSON.stringify(entry.value.slice(0, 80))}`;
      if (value === undefined) reading.refuse(entry, `must be ${expects}${shown}`);
      return value;
    },
  };
}

export function text(expects: string, pattern: RegExp): Kind<string> {
  return scalar(textRules(expects, pattern));
}

function textRules(expects: string, pattern: RegExp): Scalar<string> {
  const schema = { type: 'string', pattern: pattern.source };
  return { expects, schema, parse: (value) => (pattern.test(value) ? value : undefined) };
}

/** A text that is not secret, but that may be confused with one: a refusal does not quote it. */
export function unquotedText(expects: string, pattern: RegExp): Kind<string> {
  return scalar({ ...textRules(expects, pattern), quoted: false });
}

/** A text that may end with a space, such as what goes before another text. */
export function spacedText(expects: string, pattern: RegExp): Kind<string> {
  return scalar({ ...textRules(expects, pattern), spaced: true });
}

export function secretText(expects: string, pattern: RegExp): Kind<Secret> {
  const schema = { type: 'string', pattern: pattern.source };
  const parse = (value: string) => (pattern.test(value) ? new Secret(value) : undefined);
  return scalar({ expects, schema, secret: true, parse });
}

export function integer(minimum: number, maximum: number): Kind<number> {
  return scalar({
    expects: minimum === maximum ? String(minimum) : `a whole number from ${minimum} to ${maximum}`,
    schema: { type: 'integer', minimum, maximum },
    parse(value) {
      if (!/^\d{1,15}$/.test(value)) return undefined;
      const number = Number(value);
      return number >= minimum && number <= maximum ? number : undefined;
    },
  });
}

/** A number with at most six decimals. */
export function decimal(minimum: number, maximum: number): Kind<number> {
  return scalar({
    expects: `a number from ${minimum} to ${maximum} with at most six decimals`,
    schema: { type: 'number', minimum, maximum },
    parse(value) {
      if (!/^\d{1,9}(\.\d{1,6})?$/.test(value)) return undefined;
      const number = Number(value);
      return number >= minimum && number <= maximum ? number : undefined;
    },
  });
}

export function truth(): Kind<boolean> {
  return scalar({
    expects: 'true or false',
    schema: { type: 'boolean' },
    parse(value) {
      const word = value.toLowerCase();
      return word === 'true' ? true : word === 'false' ? false : undefined;
    },
  });
}

/** A switch, in the words that other tools use for one. */
export function switched(): Kind<boolean> {
  const words: Readonly<Record<string, boolean>> = {
    ...Object.fromEntries(['true', '1', 'yes', 'on', 'enabled'].map((word) => [word, true])),
    ...Object.fromEntries(['false', '0', 'no', 'off', 'disabled'].map((word) => [word, false])),
  };
  return scalar({
    expects: 'true or false',
    schema: { type: ['boolean', 'string', 'integer'] },
    parse: (value) => words[value.toLowerCase()],
  });
}

/** One of the words in any case, or another name of one. */
export function choice<T extends string>(names: Readonly<Record<T, readonly string[]>>): Kind<T> {
  const words = Object.keys(names) as T[];
  return scalar({
    expects: `one of ${words.join(', ')}`,
    schema: { enum: words.flatMap((word) => [word, ...names[word]]) },
    parse(value) {
      const given = value.toLowerCase();
      return words.find((word) => word === given || names[word].includes(given));
    },
  });
}

/** `Key:0`, `Key:1` and so on, in the order of the numbers; gaps do not matter. */
export function list<T>(item: Kind<T>): Kind<readonly T[]> {
  return {
    expects: `a list (key:0, key:1 …; [] for an empty one), each ${item.expects}`,
    tails: item.tails.map((tail) => `:<n>${tail}`),
    oneSource: true,
    secret: item.secret,
    secretTails: item.secretTails.map((tail) => `:<n>${tail}`),
    schema: { type: 'array', items: item.schema },
    read(node, reading) {
      const items = indexed(node);
      if (node.entry !== undefined) {
        const refusal = asEmptyList(node.entry, items);
        reading.take(node.entry);
        if (refusal === undefined) return [];
        reading.refuse(node.entry, refusal);
        return undefined;
      }
      const values: T[] = [];
      for (const child of items) {
        const value = readItem(item, child, reading);
        if (value !== undefined) values.push(value);
      }
      return values;
    },
  };
}

/** The reason why the entry cannot mean an empty list; `undefined` when it can. */
function asEmptyList(entry: Entry, items: readonly Node[]): string | undefined {
  if (entry.value.trim() !== emptyList) return 'is a list: write its items under :0, :1 and so on';
  const beside = items.some((child) => [...child.entries()].some(({ rank }) => rank === entry.rank));
  // Items of another source are reported as a mixture of sources.
  return beside ? 'is set to be empty, and has items' : undefined;
}

/** A blank item is a mistake that would change the meaning of the list, so it is refused, not dropped. */
function readItem<T>(item: Kind<T>, node: Node, reading: KindReading): T | undefined {
  const { entry } = node;
  if (entry === undefined || entry.value.trim() !== '') return item.read(node, reading);
  reading.take(entry);
  reading.refuse(entry, 'is a blank item: give it a value, or leave out the item');
  return undefined;
}

/** An object of named members, each of which may be absent. */
export function members<T extends object>(
  kinds: {
    readonly [M in keyof T]: Kind<T[M]>;
  },
): Kind<Partial<T>> {
  const pairs = Object.entries<Kind<unknown>>(kinds);
  return {
    expects: `an object of ${pairs.map(([name]) => name).join(', ')}`,
    tails: pairs.flatMap(([name, kind]) => kind.tails.map((tail) => `:${name}${tail}`)),
    oneSource: false,
    secret: pairs.some(([, kind]) => kind.secret),
    secretTails: pairs.flatMap(([name, kind]) => kind.secretTails.map((tail) => `:${name}${tail}`)),
    schema: {
      type: 'object',
      properties: Object.fromEntries(pairs.map(([name, kind]) => [name, kind.schema])),
      additionalProperties: false,
    },
    read(node, reading) {
      if (node.entry !== undefined) {
        reading.take(node.entry);
        reading.refuse(node.entry, `is an object: write its members, such as :${pairs[0]?.[0]}`);
      }
      const value: Record<string, unknown> = {};
      for (const [name, kind] of pairs) {
        const child = node.child(name);
        const read = child && kind.read(child, reading);
        if (read !== undefined) value[name] = read;
      }
      return value as Partial<T>;
    },
  };
}

function indexed(node: Node): Node[] {
  const items = [...node.children].filter(([name]) => /^\d{1,6}$/.test(name));
  return items.sort(([a], [b]) => Number(a) - Number(b)).map(([, child]) => child);
}
