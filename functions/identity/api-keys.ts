import { hash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../kernel/errors.ts';
import type { RandomSource } from '../kernel/world.ts';
import { bearerToken, type CredentialHeaders } from './credentials.ts';

/** Shared secrets that admit a caller without a principal. The service holds only their SHA-256. */
export interface ApiKeys {
  /**
   * Whether the request carries a known key; `undefined` where it carries none. A non-blank key header is final: the
   * bearer token is not tried. Throws `unauthenticated` for an unknown key, and `unavailable` while the keys of the file
   * are not known.
   */
  check(headers: CredentialHeaders): Promise<boolean | undefined>;
  /** Whether the request uses the key header, so that `Authorization` is not read for a key. */
  usesHeader(headers: CredentialHeaders): boolean;
}

export interface ApiKeysOptions {
  /** The hashes of the keys, made by `hashApiKey`. */
  readonly hashes: readonly string[];
  /** Name of the key header. */
  readonly headerName: string;
  readonly file?: ApiKeyFile;
}

/** More keys, which may change while the service runs. */
export interface ApiKeyFile {
  /** The hashes of the keys that are accepted now. Throws `unavailable` where they are not known. */
  hashes(): Promise<readonly string[]>;
}

export function createApiKeys({ hashes, headerName, file }: ApiKeysOptions): ApiKeys {
  const fixed = hashes.map(digestIn);
  const header = headerName.toLowerCase();
  const inHeader = (headers: CredentialHeaders) => headers.get(header)?.trim() || undefined;
  return {
    usesHeader: (headers) => inHeader(headers) !== undefined,
    async check(headers) {
      const key = inHeader(headers) ?? bearerToken(headers.get('authorization'));
      if (key === undefined) return undefined;
      const listed = await listedIn(file);
      // Compare every key with every digest, so that the time of the answer depends on neither.
      if (knows([...fixed, ...listed.digests], hash('sha256', key, 'buffer'))) return true;
      throw listed.fault ?? new ServiceError('unauthenticated', 'The API key was not accepted.');
    },
  };
}

interface Listed {
  readonly digests: readonly Buffer[];
  /** The reason why the keys of the file are missing. It is thrown only for a key that is not one of the fixed keys. */
  readonly fault: Error | null;
}

async function listedIn(file: ApiKeyFile | undefined): Promise<Listed> {
  if (!file) return { digests: [], fault: null };
  try {
    return { digests: (await file.hashes()).map(digestIn), fault: null };
  } catch (error) {
    return { digests: [], fault: error instanceof Error ? error : new Error('the file of API keys failed') };
  }
}

/** Compares all digests. They have one length and reveal no key, so the comparison leaks neither. */
function knows(digests: readonly Buffer[], digest: Buffer): boolean {
  let known = false;
  for (const each of digests) known = timingSafeEqual(each, digest) || known;
  return known;
}

/** Throws without quoting the text, which could be a key by mistake. */
function digestIn(text: string): Buffer {
  if (!isApiKeyHash(text)) throw new Error('the hash of an API key is sha256: and 64 hexadecimal digits');
  return Buffer.from(text.slice('sha256:'.length), 'hex');
}

/** `sha256:` and 64 lower-case hexadecimal digits. A plain hash is enough for 256 random bits: no attacker can try them all. */
export function hashApiKey(key: string): string {
  return `sha256:${hash('sha256', key)}`;
}

export function isApiKeyHash(text: string): boolean {
  return /^sha256:[0-9a-f]{64}$/.test(text);
}

const checkLength = 6;

/**
 * A new key: `svc_live_`, 256 random bits as 43 characters of base64url, and a check of 6 characters. The operator sees it once; the
 * service keeps its hash.
 */
export function createApiKeyText(random: RandomSource): string {
  const unchecked = `svc_live_${Buffer.from(random.bytes(32)).toString('base64url')}`;
  return unchecked + checkOf(unchecked);
}

function checkOf(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, checkLength);
}
