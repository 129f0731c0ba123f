import { hash } from 'node:crypto';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [member: string]: Json };
export type JsonObject = { readonly [member: string]: Json };

/** A value whose canonical text was made before; `canonicalJson` takes it over as it is. */
export class CanonicalText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Canonical JSON by RFC 8785: members in the order of their UTF-16 code units, numbers in ECMAScript's shortest form,
 * no white space. Two equal values have one text, so its hash names the value.
 *
 * Members whose value is `undefined` are left out. Throws a TypeError for what JSON cannot hold (a number that is not
 * finite, a lone surrogate), because such a value has no canonical text.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || value === true || value === false) return String(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError('canonical JSON holds finite numbers only');
    return JSON.stringify(value);
  }
  if (typeof value === 'string') {
    if (!value.isWellFormed()) throw new TypeError('canonical JSON holds well-formed Unicode only');
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value instanceof CanonicalText) return value.text;
  if (typeof value === 'object') return canonicalObject(value as Record<string, unknown>);
  throw new TypeError(`canonical JSON cannot hold a ${typeof value}`);
}

function canonicalObject(value: Record<string, unknown>): string {
  let text = '{';
  // The default sort compares UTF-16 code units, which is the order that RFC 8785 section 3.2.3 asks for.
  for (const name of Object.keys(value).sort()) {
    const member = value[name];
    if (member === undefined) continue;
    if (text.length > 1) text += ',';
    text += `${canonicalJson(name)}:${canonicalJson(member)}`;
  }
  return `${text}}`;
}

/** `sha256:` and 64 lower-case hexadecimal digits over the UTF-8 bytes of `text`. */
export function sha256(text: string | Uint8Array): string {
  return `sha256:${hash('sha256', text, 'hex')}`;
}
