import { SvcError } from './errors.ts';
import type { Credential, Settings } from './options.ts';

// What the service takes for a key, and what RFC 6750 section 2.1 takes for a token. Anything else the platform would
// refuse as a header, in an error that quotes it.
const apiKeyForm = /^[\x21-\x7e]{1,512}$/;
const tokenForm = /^[A-Za-z0-9._~+/-]{1,16384}=*$/;

/**
 * The headers that say who is calling. The key goes in its own header and the token in `X-Serverless-Authorization`, which
 * the service reads for an identity whatever it is configured with: where keys are in use, a token alone in
 * `Authorization` is an attempt at a key.
 */
export async function credentialHeaders(settings: Settings): Promise<readonly (readonly [string, string])[]> {
  const headers: [string, string][] = [];
  const key = await ask('API key', settings.apiKey, apiKeyForm);
  if (key !== null) headers.push([settings.apiKeyHeader, key]);
  const token = await ask('identity token', settings.token, tokenForm);
  if (token !== null) headers.push(['X-Serverless-Authorization', `Bearer ${token}`]);
  return headers;
}

async function ask(what: string, credential: Credential | null, form: RegExp): Promise<string | null> {
  const value = typeof credential === 'function' ? await credential() : credential;
  if (value === null || form.test(value)) return value;
  throw new SvcError(`The ${what} is empty, too long, or holds a character that it cannot hold.`);
}
