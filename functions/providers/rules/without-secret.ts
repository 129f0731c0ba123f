import type { Json } from '../../kernel/canonical-json.ts';

/** A shorter key may be a word of the text. */
const SECRET_LENGTH_MIN = 8;
const IN_ITS_PLACE = '[key]';

/** The text of an answer without the key that was sent for it: some servers repeat the request. */
export function withoutSecret(text: string, secret: string | null): string {
  return isSecret(secret) ? text.replaceAll(secret, IN_ITS_PLACE) : text;
}

/**
 * Removes the key from parsed JSON, in which escapes may have hidden the key. Returns the same value when it does not contain
 * the key.
 */
export function valueWithoutSecret<Value extends Json>(value: Value, secret: string | null): Value {
  if (!isSecret(secret)) return value;
  const written = JSON.stringify(secret).slice(1, -1);
  return JSON.stringify(value).includes(written) ? (walked(value, secret) as Value) : value;
}

function isSecret(secret: string | null): secret is string {
  return secret !== null && secret.length >= SECRET_LENGTH_MIN;
}

function walked(value: Json, secret: string): Json {
  if (typeof value === 'string') return withoutSecret(value, secret);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return (value as readonly Json[]).map((each) => walked(each, secret));
  const members = Object.entries(value).map(([name, each]) => [
    withoutSecret(name, secret),
    walked(each, secret),
  ]);
  return Object.fromEntries(members) as Json;
}
