import { SvcError } from './errors.ts';
import type { Credential, Settings } from './options.ts';
import type { WireRequest } from './request.ts';

// The service's form of a key, and the form of a token in RFC 6750 section 2.1. The platform refuses other values as a
// header, and quotes them in its error.
const apiKeyForm = /^[\x21-\x7e]{1,512}$/;
const tokenForm = /^[A-Za-z0-9._~+/-]{1,16384}=*$/;

const TOKEN_HEADER = 'X-Serverless-Authorization';

/**
 * The headers of a request with the credentials of the caller. The token goes into `X-Serverless-Authorization`: a service
 * with API keys reads `Authorization` as an attempt at a key. Headers that the caller set or removed stay as they are.
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

async function ask(what: string, credential: Credential | null, form: RegExp): Promise<string | null> {
  const value = typeof credential === 'function' ? await credential() : credential;
  if (value === null || form.test(value)) return value;
  throw new SvcError(`The ${what} is empty, too long, or has an invalid character.`);
}
