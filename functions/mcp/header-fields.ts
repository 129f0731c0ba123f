/** The header fields that repeat values of the body, so that gateways can route without reading it. */

/** The decoded value of a field; `malformed` also for a repeated field. */
export type FieldValue = { readonly value: string } | 'absent' | 'malformed';

export interface MirrorFields {
  /** The text of a field that is never encoded. */
  plain(name: string): FieldValue;
  /** The text of a field whose values may be encoded. */
  encoded(name: string): FieldValue;
}

/** Reads `rawHeaders`, names and values in turn. The other headers of Node join repeated fields, which would hide a repetition. */
export function mirrorFieldsOf(rawHeaders: readonly string[]): MirrorFields {
  const fields = new Map<string, FieldValue>();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase();
    if (!name.startsWith('mcp-')) continue;
    const value = withoutBlanks(rawHeaders[at + 1] ?? '');
    fields.set(name, fields.has(name) ? 'malformed' : { value });
  }
  const plain = (name: string): FieldValue => fields.get(name.toLowerCase()) ?? 'absent';
  return {
    plain,
    encoded(name) {
      const field = plain(name);
      return typeof field === 'string' ? field : decodeFieldValue(field.value);
    },
  };
}

/** Trims without a regular expression, which would take quadratic time for a hostile text of blanks. */
function withoutBlanks(text: string): string {
  const isBlank = (at: number): boolean => text[at] === ' ' || text[at] === '\t';
  let [start, end] = [0, text.length];
  while (start < end && isBlank(start)) start += 1;
  while (end > start && isBlank(end - 1)) end -= 1;
  return text.slice(start, end);
}

const START = '=?base64?';
const END = '?=';
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Decodes a field value: printable ASCII is literal, and `=?base64?…?=` holds Base64 of UTF-8. A text with only one of the two marks
 * is literal. Base64 must be canonical, so that a text has one encoding.
 */
function decodeFieldValue(value: string): FieldValue {
  if (!value.startsWith(START) || !value.endsWith(END) || value.length < START.length + END.length)
    return /^[\x20-\x7e\t]*$/.test(value) ? { value } : 'malformed';
  const encoded = value.slice(START.length, -END.length);
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64') !== encoded) return 'malformed';
  try {
    return { value: utf8.decode(bytes) };
  } catch {
    return 'malformed';
  }
}
