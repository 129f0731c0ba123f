import * as fc from 'fast-check';
import { codePoint } from '../support/code-points.ts';

/** Hostile path segments as they are sent, and an independent answer to what each of them names. */

/** `%xx` for every byte. */
function encodeAll(bytes: Uint8Array, upper: boolean): string {
  return [...bytes].map((byte) => `%${hex(byte, upper)}`).join('');
}

function hex(byte: number, upper: boolean): string {
  const digits = byte.toString(16).padStart(2, '0');
  return upper ? digits.toUpperCase() : digits;
}

/** Texts with a meaning to some file system, database, URL parser, shell or terminal; as text, not yet encoded. */
const texts: readonly string[] = [
  [
    '/',
    '\\',
    '%',
    '?',
    '#',
    '.',
    '..',
    '...',
    './',
    '../',
    '..\\',
    ';param=1',
    ';',
    ':',
    '@',
    '&',
    '=',
    '+',
    ',',
    '~',
  ],
  [
    '',
    ' ',
    '  ',
    ' a',
    'a ',
    '\u00a0',
    '\u2003',
    '\u3000',
    '\t',
    '\r\n',
    '\n',
    '\u0000',
    '\u0007',
    '\u001b[2J',
    '\u007f',
  ],
  [
    '\u0080',
    '\u0085',
    '\u00ad',
    '\u061c',
    '\u200b',
    '\u200d',
    '\u200e',
    '\u202e',
    '\u2028',
    '\u2029',
    '\u2060',
    '\ufeff',
  ],
  ['\ue000', '\ufdd0', '\ufffe', '\uffff', '\u{e0001}', '\u{10ffff}', '\u0378', '\ufffd'],
  [
    '\uff0f',
    '\uff3c',
    '\uff0e',
    '\u2215',
    '\u2044',
    '\u29f8',
    '\u2024',
    '\ufe68',
    '\uff05',
    '\uff1f',
    '\uff03',
  ],
  [
    'e\u0301',
    '\u00e9',
    '\u1e9b\u0323',
    '\uac00',
    '\u1100\u1161',
    '\u212b',
    '\u00c5',
    '\u2126',
    '\ufb01',
    '\u0130',
    'ß',
  ],
  [
    '__proto__',
    '__id7__',
    '__.*__',
    '__.__',
    'constructor',
    'toString',
    'con',
    'CON',
    'nul',
    'aux.txt',
    'trailing.',
  ],
  [
    'a',
    'A',
    'b',
    '0',
    '-',
    '_',
    '*',
    '!',
    '$',
    "'",
    '(',
    ')',
    '"',
    '<',
    '>',
    '|',
    '`',
    '{',
    '}',
    '[',
    ']',
    '^',
  ],
  ['a'.repeat(159), 'a'.repeat(160), 'a'.repeat(161), 'a'.repeat(200), 'a'.repeat(300), '\u4e2d'.repeat(160)],
  [
    '\u{1f600}',
    '\u{1f600}'.repeat(80),
    '\u{1f600}'.repeat(81),
    'read',
    'revisions',
    'query',
    'leases',
    'tenants',
  ],
].flat();

/** Segments that decode to no text: broken escapes, bytes that are no UTF-8, characters that a path cannot hold. */
const raws: readonly string[] = [
  [
    '%',
    '%2',
    '%zz',
    '%u002f',
    '%U002F',
    '%u{2f}',
    '\\u002f',
    '%%32%66',
    '%25',
    '%252f',
    '%25252f',
    '%2525252f',
  ],
  [
    '%C0%AF',
    '%c0%ae',
    '%E0%80%AF',
    '%F0%80%80%AF',
    '%C0%80',
    '%E0%A4%A',
    '%E0%A4',
    '%80',
    '%FF',
    '%FE%FF',
    '%F5%80',
  ],
  [
    '%ED%A0%80',
    '%ED%BF%BF',
    '%ED%A0%BD%ED%B8%80',
    '%F4%90%80%80',
    '%EF%BF%BF',
    '%2e%2E',
    '.%2e',
    '%2E.',
    '%2e',
  ],
  [
    '\u00fc',
    '\u00ff',
    '\u0100',
    '\ud800',
    '\udc00',
    '\r',
    '\n',
    '\u0000',
    ' ',
    '\t',
    '"',
    '<',
    '|',
    '^',
    '`',
    '{',
  ],
].flat();

const bytes = fc.uint8Array({ minLength: 1, maxLength: 4 });
const ofText = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...texts) },
  { weight: 2, arbitrary: fc.string({ unit: codePoint, maxLength: 6 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 6 }) },
);

const encoded = fc
  .record({ text: ofText, times: fc.nat({ max: 3 }), upper: fc.boolean(), whole: fc.boolean() })
  .map(({ text, times, upper, whole }) => {
    let segment = text.toWellFormed();
    // Long ones grow beyond the longest target, which is refused as that and says nothing about segments.
    for (let time = 0; time < times && segment.length < 700; time += 1) {
      segment = whole ? encodeAll(Buffer.from(segment), upper) : encodeURIComponent(segment);
    }
    return segment;
  });

/** One segment of up to three pieces, in every spelling and mixture. */
export const segments: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: encoded },
      { weight: 2, arbitrary: fc.constantFrom(...raws) },
      { weight: 1, arbitrary: fc.tuple(bytes, fc.boolean()).map(([each, upper]) => encodeAll(each, upper)) },
      { weight: 3, arbitrary: ofText.map((text) => encodeURIComponent(text.toWellFormed())) },
    ),
    { minLength: 1, maxLength: 3 },
  )
  .map((pieces) => pieces.join(''));

const unreserved = /[A-Za-z0-9\-._~!$&'()*+,;=:@]/;
// Unicode's "other": controls, format, surrogates, private use, unassigned.
const invisible = /\p{C}/u;

export interface NameRule {
  readonly lengthMax: number;
  readonly bytesMax: number;
  /** Whether the parameter refuses separators, invisible characters and text that is not composed. */
  readonly strict: boolean;
  /** The key of a record takes every text: one that no record has is not found. */
  readonly anyText: boolean;
}

/**
 * The name in a segment, or `null` where it names nothing: decoded byte by byte once, strictly UTF-8, not white space at
 * either end, spelt plainly, within its limits, and where the rule is strict of visible characters without a separator,
 * composed. Written from the rule, not from the code that obeys it.
 */
export function nameIn(segment: string, { lengthMax, bytesMax, strict, anyText }: NameRule): string | null {
  const decoded = decodeOnce(segment);
  if (decoded === null || !isSpeltPlainly(segment)) return null;
  let name: string;
  try {
    name = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(decoded);
  } catch {
    return null;
  }
  if (name.length === 0 || name.length > lengthMax || decoded.length > bytesMax) return null;
  if (name === '.' || name === '..') return null;
  if (anyText) return name;
  if (/^\s|\s$/u.test(name)) return null;
  if (!strict) return Array.from(name).some(isControl) ? null : name;
  if (invisible.test(name)) return null;
  if (['/', '\\', '%', '?', '#'].some((separator) => name.includes(separator))) return null;
  return name.normalize('NFC') === name ? name : null;
}

/** U+0000 to U+001F and U+007F to U+009F. */
function isControl(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

/** Whether nothing is encoded that RFC 3986 never needs encoded, and every digit of an encoding is upper-case. */
function isSpeltPlainly(segment: string): boolean {
  return [...segment.matchAll(/%(..)/g)].every(([, digits = '']) => {
    const character = String.fromCharCode(Number.parseInt(digits, 16));
    return digits === digits.toUpperCase() && !'-._~'.includes(character) && !/[A-Za-z0-9]/.test(character);
  });
}

/** The bytes that a segment stands for, or `null` where it is not percent-encoded as RFC 3986 says. */
export function decodeOnce(segment: string): Uint8Array | null {
  const decoded: number[] = [];
  for (let at = 0; at < segment.length; at += 1) {
    const character = segment.charAt(at);
    if (character === '%') {
      const digits = segment.slice(at + 1, at + 3);
      if (!/^[0-9A-Fa-f]{2}$/.test(digits)) return null;
      decoded.push(Number.parseInt(digits, 16));
      at += 2;
    } else if (unreserved.test(character)) decoded.push(character.charCodeAt(0));
    else return null;
  }
  return Uint8Array.from(decoded);
}
