import { type KeyObject, verify } from 'node:crypto';
import { refused } from './refusal.ts';

/**
 * Throws `unauthenticated` unless the key signed the token with RS256 (RFC 7515 section 5.2, RFC 7518 section 3.3). The token is one
 * that `readToken` has accepted, and the key is an RSA key of the key set.
 *
 * Node's synchronous `verify` takes about 25 µs. Its asynchronous forms, and with them every library on WebCrypto, wait for a
 * thread of the pool, which four slow name resolutions would keep from every caller.
 */
export function verifySignature(token: string, key: KeyObject): void {
  const end = token.lastIndexOf('.');
  const signature = Buffer.from(token.slice(end + 1), 'base64url');
  if (!verify('sha256', Buffer.from(token.slice(0, end)), key, signature))
    throw refused('The signature of the identity token does not hold.');
}
