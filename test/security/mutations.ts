import * as fc from 'fast-check';
import type { Json } from '../../contracts/generate/schema.ts';
import { hostileTexts } from './scalars.ts';

/** Damage done to a JSON body, from changes of its tree down to flips of its bytes. */

type Kind = keyof typeof ofTree | keyof typeof ofText | keyof typeof ofBytes;

/** One change: what kind, where, and which of its variants. */
export interface Step {
  readonly kind: Kind;
  readonly at: number;
  readonly variant: number;
}

type JsonObject = { readonly [member: string]: Json };

/** Stands in the tree for what no tree can hold, until there is a text to write it into. */
const mark = '@@raw@@';

const swaps: readonly Json[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  '',
  'x',
  [],
  {},
  [[]],
  [null],
  { a: 1 },
  '0',
  'null',
  2 ** 53,
];
const literals = (
  '1e400 -1e400 9007199254740993 -0 0.1e-9999 01 +1 .5 1. 0x10 NaN Infinity -Infinity undefined ' +
  'True 1_000 \'a\' "\\x41" "\\ud800" "\\u0000" "\\' +
  'u{41}"'
).split(' ');
const traps = [
  '"__proto__"',
  '"\\u005f_proto__"',
  '"constructor"',
  '"prototype"',
  '"toJSON"',
  '"then"',
  '"__defineGetter__"',
];
const invalidBytes = ['ff', 'c0af', 'eda080', 'f4908080', '80', 'fffe', 'efbbbf', '00'].map((hex) =>
  Buffer.from(hex, 'hex'),
);

/** Changes of the value: it stays JSON. */
const ofTree = {
  swapType: (tree: Json, { at, variant }: Step) => replaceAt(tree, at, () => pick(swaps, variant)),
  hostileText: (tree: Json, { at, variant }: Step) => replaceAt(tree, at, () => pick(hostileTexts, variant)),
  longText: (tree: Json, { at, variant }: Step) =>
    replaceAt(tree, at, () => 'a'.repeat(10 ** (1 + (variant % 5)))),
  wrap: (tree: Json, { at, variant }: Step) =>
    replaceAt(tree, at, (old) => pick<Json>([[old], { a: old }, [old, old]], variant)),
  remove: (tree: Json, { at, variant }: Step) =>
    changeObject(tree, at, (names) => names.filter((_, n) => n !== variant % names.length)),
  rename: (tree: Json, { at, variant }: Step) =>
    changeObject(tree, at, (names) =>
      names.map((name, n) => (n === variant % names.length ? name.toUpperCase() : name)),
    ),
  repeatItems: (tree: Json, { at, variant }: Step) =>
    replaceAt(tree, at, (old) =>
      Array.isArray(old) ? Array.from({ length: 1 + (variant % 120) }, () => old[0] ?? null) : old,
    ),
  raw: (tree: Json, { at }: Step) => replaceAt(tree, at, () => mark),
} as const;

/** Changes of the text: it may be no JSON any more. */
const ofText = {
  duplicateMember: (text: string, { at, variant }: Step) => {
    const name = pickMatch(text, /"[^"\\]*":/g, variant);
    return name === undefined
      ? text
      : insertAfter(text, '{', at, `${name}${pick(['0', 'null', '"x"', '{}'], variant)},`);
  },
  trap: (text: string, { at, variant }: Step) =>
    insertAfter(text, '{', at, `${pick(traps, variant)}:{"polluted":true,"prototype":{"polluted":true}},`),
  nest: (text: string, { at, variant }: Step) => {
    const depth = pick([60, 64, 65, 1_000, 30_000], variant);
    const [open, close] = variant % 2 === 0 ? ['[', ']'] : ['{"a":', '}'];
    return insertAfter(text, ':', at, `${open.repeat(depth)}0${close.repeat(depth)},"x":`);
  },
  truncate: (text: string, { at }: Step) => text.slice(0, at % (text.length + 1)),
  repeatSlice: (text: string, { at, variant }: Step) => {
    const from = at % (text.length + 1);
    return text.slice(0, from) + text.slice(variant % (from + 1), from) + text.slice(from);
  },
  dropCharacter: (text: string, { at }: Step) =>
    text.slice(0, at % (text.length + 1)) + text.slice((at % (text.length + 1)) + 1),
  surround: (text: string, { variant }: Step) =>
    pick(
      [
        `\ufeff${text}`,
        `${text}x`,
        `${text}${text}`,
        ` \t\r\n${text}\n`,
        `/**/${text}`,
        `${text}//`,
        `[${text}]`,
        `${text},`,
        `(${text})`,
      ],
      variant,
    ),
} as const;

/** Changes of the bytes: it may be no text any more. */
const ofBytes = {
  flipBits: (bytes: Buffer, { at, variant }: Step) => {
    if (bytes.length > 0) bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ (1 + (variant % 255));
    return bytes;
  },
  invalidUtf8: (bytes: Buffer, { at, variant }: Step) => {
    const from = at % (bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, from), pick(invalidBytes, variant), bytes.subarray(from)]);
  },
  utf16: (bytes: Buffer) => Buffer.from(bytes.toString(), 'utf16le'),
} as const;

const kinds = [...Object.keys(ofTree), ...Object.keys(ofText), ...Object.keys(ofBytes)] as Kind[];

// Most changes of text and bytes end in the parser, which is the same for every operation.
const kind = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...(Object.keys(ofTree) as Kind[])) },
  { weight: 1, arbitrary: fc.constantFrom(...kinds) },
);

/** One to three changes; one is the most telling, because two faults of a body hide each other. */
export const damage: fc.Arbitrary<readonly Step[]> = fc.oneof(
  ...[1, 1, 2, 3].map((count) =>
    fc.array(fc.record({ kind, at: fc.nat(), variant: fc.nat() }), { minLength: count, maxLength: count }),
  ),
);

/** The body after the changes. Those of the tree come first, then those of the text, then those of the bytes. */
export function damaged(body: Json, changes: readonly Step[]): Uint8Array {
  let tree = body;
  let raw = 0;
  for (const step of changes) {
    if (!(step.kind in ofTree)) continue;
    tree = ofTree[step.kind as keyof typeof ofTree](tree, step);
    raw = step.variant;
  }
  let text = JSON.stringify(tree).replaceAll(`"${mark}"`, pick(literals, raw));
  for (const step of changes)
    if (step.kind in ofText) text = ofText[step.kind as keyof typeof ofText](text, step);
  let bytes: Buffer = Buffer.from(text);
  for (const step of changes)
    if (step.kind in ofBytes) bytes = ofBytes[step.kind as keyof typeof ofBytes](bytes, step);
  return bytes;
}

function pick<T>(items: readonly T[], at: number): T {
  return items[at % items.length] as T;
}

function pickMatch(text: string, pattern: RegExp, at: number): string | undefined {
  const matches = text.match(pattern) ?? [];
  return matches[at % Math.max(1, matches.length)];
}

/** Puts `piece` behind one of the places where `after` stands. */
function insertAfter(text: string, after: string, at: number, piece: string): string {
  const places = text.split('').flatMap((character, index) => (character === after ? [index + 1] : []));
  const place = places[at % Math.max(1, places.length)];
  return place === undefined ? text : text.slice(0, place) + piece + text.slice(place);
}

/** The tree with one of its values, whichever `at` names, replaced. */
function replaceAt(tree: Json, at: number, change: (old: Json) => Json): Json {
  let left = at % countOf(tree);
  const visit = (value: Json): Json => {
    if (left === 0) {
      left = -1;
      return change(value);
    }
    left -= 1;
    if (Array.isArray(value)) return value.map((item: Json) => (left < 0 ? item : visit(item)));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, left < 0 ? member : visit(member)]),
    );
  };
  return visit(tree);
}

/** The tree with other members of one of its objects. */
function changeObject(tree: Json, at: number, choose: (names: readonly string[]) => readonly string[]): Json {
  return replaceAt(tree, at, (old) => {
    if (!isObject(old) || Object.keys(old).length === 0) return old;
    const names = Object.keys(old);
    const values = Object.values(old);
    const chosen = choose(names);
    if (chosen.length === names.length)
      return Object.fromEntries(chosen.map((name, n) => [name, values[n] ?? null]));
    return Object.fromEntries(chosen.map((name) => [name, old[name] ?? null]));
  });
}

function countOf(value: Json): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item: Json) => sum + countOf(item), 1);
  return isObject(value) ? Object.values(value).reduce<number>((sum, item) => sum + countOf(item), 1) : 1;
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
