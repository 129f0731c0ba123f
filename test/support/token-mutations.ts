import * as fc from 'fast-check';
import { codePoint } from './code-points.ts';
import { type Claims, mintRaw, type SigningKey, segment } from './tokens.ts';

/** One change of a token. Positions count round the token, so that each of them means something. */
export interface Mutation {
  readonly kind: keyof typeof kinds;
  readonly at: number;
  readonly count: number;
  readonly text: string;
  readonly member: string;
  readonly value: unknown;
}

/** The material for forged tokens. */
export interface MutationParts {
  /** Another token that is accepted. */
  readonly other: string;
  /** An unpublished key with the same id. */
  readonly stranger: SigningKey;
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const odd = [
  ' ',
  '\t',
  '\n',
  '\r\n',
  '\0',
  '=',
  '==',
  '+',
  '/',
  '.',
  ',',
  '%',
  '"',
  '\u00a0',
  '\u2028',
  '．',
  'Ａ',
  '😀',
];
const names = [
  'alg',
  'kid',
  'typ',
  'crit',
  'b64',
  'jwk',
  'jku',
  'x5u',
  'iss',
  'aud',
  'sub',
  'exp',
  'email',
  '__proto__',
];

const kinds = {
  'bit of the text': (token, { at, count }) =>
    put(token, at, 1, String.fromCharCode(codeAt(token, at) ^ (1 << (count % 8)))),
  'bit of the bytes': (token, { at, count }) => changeSegment(token, at, (part) => flip(part, at, count)),
  insertion: (token, { at, text }) => put(token, at, 0, text),
  'text before it': (token, { text }) => text + token,
  'text behind it': (token, { text }) => token + text,
  deletion: (token, { at, count }) => put(token, at, count, ''),
  replacement: (token, { at, text }) => put(token, at, text.length, text),
  case: (token, { at, count }) =>
    put(token, at, count, swapCase(token.slice(at % size(token), (at % size(token)) + count))),
  'case of a segment': (token, { at }) => changeSegment(token, at, swapCase),
  truncation: (token, { count }) => token.slice(0, -count),
  beheading: (token, { count }) => token.slice(count),
  'order of segments': (token, { at }) => rotate(token.split('.'), at % 3).join('.'),
  'foreign segment': (token, { at }, { other }) =>
    changeSegment(token, at, (_, index) => other.split('.')[index] ?? ''),
  'lost segment': (token, { at }) =>
    token
      .split('.')
      .toSpliced(at % 3, 1)
      .join('.'),
  concatenation: (token, { text }, { other }) => `${token}${text}${other}`,
  repetition: (token, { text }) => `${token}${text}${token}`,
  'no signature': (token) => token.replace(/[^.]*$/, ''),
  padding: (token, { at }) =>
    changeSegment(token, at, (part) => part.padEnd(Math.ceil(part.length / 4) * 4, '=')),
  'plain base64': (token) => token.replaceAll('-', '+').replaceAll('_', '/'),
  'unused bits': (token, { at, count }) => changeSegment(token, at, (part) => nextLast(part, count)),
  'member of the header': (token, mutation) =>
    changeJson(token, 0, (json) => ({ ...json, ...changeOf(mutation) })),
  claim: (token, mutation) => changeJson(token, 1, (json) => ({ ...json, ...changeOf(mutation) })),
  'white space in the JSON': (token, { at }) =>
    changeSegment(token, at % 2, (part) => segment(` ${textOf(part)}`)),
  'claim, signed by a stranger': (token, mutation, { stranger }) => {
    const [header = '', payload = ''] = token.split('.');
    return mintRaw(stranger, textOf(header), { ...jsonOf(payload), ...changeOf(mutation) });
  },
  'signed by a stranger': (token, _, { stranger }) => {
    const [header = '', payload = ''] = token.split('.');
    return mintRaw(stranger, textOf(header), textOf(payload));
  },
} satisfies Record<string, (token: string, mutation: Mutation, parts: MutationParts) => string>;

export const mutationKinds = Object.keys(kinds) as readonly Mutation['kind'][];

export const mutation: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.constantFrom(...mutationKinds),
  at: fc.nat(2000),
  count: fc.integer({ min: 1, max: 12 }),
  text: fc.oneof(
    fc.constantFrom(...odd, ...Array.from(alphabet)),
    fc.string({ unit: codePoint, minLength: 1, maxLength: 6 }),
  ),
  member: fc.constantFrom(...names),
  value: fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom('none', 'HS256', ['RS256'], 1e308)),
});

export function mutate(token: string, mutations: readonly Mutation[], parts: MutationParts): string {
  return mutations.reduce((text, each) => kinds[each.kind](text, each, parts), token);
}

const size = (token: string) => Math.max(token.length, 1);
const codeAt = (token: string, at: number) => token.charCodeAt(at % size(token)) || 0;

function put(token: string, at: number, removed: number, text: string): string {
  const from = at % size(token);
  return token.slice(0, from) + text + token.slice(from + removed);
}

function changeSegment(token: string, at: number, change: (part: string, index: number) => string): string {
  const parts = token.split('.');
  const index = at % parts.length;
  return parts.with(index, change(parts[index] ?? '', index)).join('.');
}

/** Left as it is where it holds no JSON object any more. */
function changeJson(token: string, index: number, change: (json: Claims) => Claims): string {
  return changeSegment(token, index, (part) => segment(change(jsonOf(part))));
}

function changeOf({ member, value }: Mutation): Claims {
  return { [member]: value };
}

function jsonOf(part: string): Claims {
  try {
    return JSON.parse(textOf(part)) as Claims;
  } catch {
    return {};
  }
}

function textOf(part: string): string {
  return Buffer.from(part, 'base64url').toString();
}

function flip(part: string, at: number, bit: number): string {
  const bytes = Buffer.from(part, 'base64url');
  const index = at % Math.max(bytes.length, 1);
  bytes[index] = (bytes[index] ?? 0) ^ (1 << (bit % 8));
  return bytes.toString('base64url');
}

function nextLast(part: string, count: number): string {
  const last = alphabet.indexOf(part.at(-1) ?? '');
  return part.slice(0, -1) + (alphabet[(last + count) % 64] ?? '');
}

function rotate(parts: readonly string[], by: number): string[] {
  return [...parts.slice(by), ...parts.slice(0, by)];
}

function swapCase(text: string): string {
  return Array.from(text)
    .map((char) => (char === char.toLowerCase() ? char.toUpperCase() : char.toLowerCase()))
    .join('');
}
