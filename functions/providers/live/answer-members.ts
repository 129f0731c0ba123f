import type { Json } from '../../kernel/canonical-json.ts';

/** A member of a JSON object; `undefined` where there is none. */
export function memberOf(value: unknown, name: string): unknown {
  const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
  return isObject ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

/** Bytes of a value as JSON. */
export function bytesOf(value: Json | undefined): number {
  return Buffer.byteLength(JSON.stringify(value ?? null));
}

/** A shorter key may be a word of the text. */
const SECRET_LENGTH_MIN = 8;

/** The text of an answer without the key that was sent for it: some servers repeat the request. */
export function withoutSecret(text: string, key: string | null): string {
  return key === null || key.length < SECRET_LENGTH_MIN ? text : text.replaceAll(key, '[key]');
}
