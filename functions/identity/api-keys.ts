import { hash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../kernel/errors.ts';
import { bearerToken, type CredentialHeaders } from './credentials.ts';

/** Shared secrets that let a caller in without saying who it is. Only their SHA-256 stays in memory. */
export interface ApiKeys {
  /**
   * Whether the request carries a known key; `undefined` where it carries none. A non-blank key header is final: the
   * bearer token is then not tried. Throws `unauthenticated` for an unknown key.
   */
  check(headers: CredentialHeaders): boolean | undefined;
}

export interface ApiKeysOptions {
  readonly keys: readonly string[];
  /** Name of the key header. */
  readonly headerName: string;
}

export function createApiKeys({ keys, headerName }: ApiKeysOptions): ApiKeys {
  const digests = keys.map(digestOf);
  const header = headerName.toLowerCase();
  return {
    check(headers) {
      const written = headers.get(header)?.trim();
      const key =
        written === undefined || written === '' ? bearerToken(headers.get('authorization')) : written;
      if (key === undefined) return undefined;
      if (!knows(digests, digestOf(key)))
        throw new ServiceError('unauthenticated', 'The API key was not accepted.');
      return true;
    },
  };
}

/** Digests have one length and tell nothing of the key, so comparing them leaks neither; every one is compared. */
function knows(digests: readonly Buffer[], digest: Buffer): boolean {
  let known = false;
  for (const each of digests) known = timingSafeEqual(each, digest) || known;
  return known;
}

function digestOf(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}
