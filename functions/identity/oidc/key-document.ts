import { createPublicKey, type KeyObject } from 'node:crypto';
import { isJsonObject, type JsonMembers } from '../../kernel/json-kinds.ts';

/** Public keys by key id. */
export type Keys = ReadonlyMap<string, KeyObject>;

const keysMax = 100;
const modulusBitsMin = 2048;
// FIPS 186-5. With a smaller exponent, signatures can be forged if a verifier checks their padding carelessly.
const exponentMin = 65_537n;
const keyIdPattern = /^[\x21-\x7e]{1,256}$/;

/**
 * The usable keys of a JSON Web Key Set (RFC 7517 section 5), or of an object of key id → PEM certificate, as Google publishes it.
 * A set without usable keys is valid: the issuer has withdrawn them. Throws an Error for any other document, for more than 100
 * keys, and for PEM texts without a usable key, which may be an error document.
 */
export function readKeyDocument(text: string): Keys {
  const document: unknown = JSON.parse(text);
  if (!isJsonObject(document)) throw new Error('the key set is not a JSON object');
  const set: unknown = document['keys'];
  const entries = Array.isArray(set) ? set.map(jwkEntry) : pemEntries(document);
  if (entries.length > keysMax) throw new Error(`the key set has more than ${keysMax} keys`);
  const keys = new Map<string, KeyObject>();
  for (const [kid, read] of entries) {
    const key = keyIdPattern.test(kid) && !keys.has(kid) ? usableKey(read) : undefined;
    if (key !== undefined) keys.set(kid, key);
  }
  if (keys.size === 0 && !isKeySet(set)) throw new Error('the key set has no usable key');
  return keys;
}

/** Whether the value is a list of keys only. Each key must have a type (RFC 7517 section 4.1). */
function isKeySet(set: unknown): boolean {
  return Array.isArray(set) && set.every((jwk) => isJsonObject(jwk) && typeof jwk['kty'] === 'string');
}

type KeyEntry = readonly [kid: string, read: () => KeyObject];

function pemEntries(document: JsonMembers): KeyEntry[] {
  return Object.entries(document).map(([kid, pem]) => [kid, () => createPublicKey(textOf(pem))]);
}

function jwkEntry(jwk: unknown): KeyEntry {
  const { kid, kty, use, key_ops: uses, alg, n, e } = isJsonObject(jwk) ? jwk : {};
  return [
    typeof kid === 'string' ? kid : '',
    () => {
      const verifies = uses === undefined || (Array.isArray(uses) && uses.includes('verify'));
      if (kty !== 'RSA' || (use ?? 'sig') !== 'sig' || !verifies || (alg ?? 'RS256') !== 'RS256')
        throw new Error('the key is for another use');
      return createPublicKey({ key: { kty, n: textOf(n), e: textOf(e) }, format: 'jwk' });
    },
  ];
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new Error('the key is not text');
  return value;
}

function usableKey(read: () => KeyObject): KeyObject | undefined {
  try {
    const key = read();
    const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
    if (key.asymmetricKeyType !== 'rsa' || modulusLength < modulusBitsMin || publicExponent < exponentMin)
      return undefined;
    return key;
  } catch {
    return undefined;
  }
}
