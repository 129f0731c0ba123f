import { SvcError } from './errors.ts';
import type { Credential, Settings } from './options.ts';
import type { WireRequest } from './request.ts';

// What the service takes for a key, and what RFC 6750 section 2.1 takes for a token. Anything else the platform would
// refuse as a header, in an error that quotes it.
const apiKeyForm = /^[\x21-\x7e]{1,512}$/;
const tokenForm = /^[A-Za-z0-9._~+/-]{1,16384}=*$/;

const TOKEN_HEADER = 'X-Serverless-Authorization';

/**
 * The headers of a request with those that say who is calling. The key goes in its own header and the token in
 * `X-Serverless-Authorization`, which the service reads for an identity whatever it is configured with: where keys are in
 * use, a token alone in `Authorization` is an attempt at a key. What the caller gave or took away there holds.
 */
export async function withCredentials(
  settings: Settings,
  { headers: given, takenAway }: WireRequest,
): Promise<Headers> {
  const headers = new Headers(given);
  const isOpen = (name: string) => !headers.has(name) && !takenAway.has(name.toLowerCase());
  if (isOpen(settings.apiKeyHeader)) {
    const key = await ask('API key', settings.apiKey, apiKeyForm);
    if (key !== null) headers.set(settings.apiKeyHeader, key);
  }
  if (isOpen(TOKEN_HEADER)) {
    const token = await ask('identity token', settings.token, tokenForm);
    if (token !== null) headers.set(TOKEN_HEADER, `Bearer ${token}`);
  }
  return headers;
}

const credentialHeaders = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-serverless-authorization',
  'x-svc-api-key',
  'x-api-key',
];

/** Whether a header of this name says who is calling. */
export function isCredentialHeader(name: string, apiKeyHeader: string): boolean {
  return [apiKeyHeader.toLowerCase(), ...credentialHeaders].includes(name.toLowerCase());
}

async function ask(what: string, credential: Credential | null, form: RegExp): Promise<string | null> {
  const value = typeof credential === 'function' ? await credential() : credential;
  if (value === null || form.test(value)) return value;
  throw new SvcError(`The ${what} is empty, too long, or holds a character that it cannot hold.`);
}
