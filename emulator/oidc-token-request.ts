import type { MintClaims } from './oidc-keys.ts';

const members = new Set(['email', 'audience', 'expiresInSeconds']);
const expiresInSecondsDefault = 3600;
const expiresInSecondsMax = 86_400;

export interface TokenRequest extends MintClaims {
  readonly expiresInSeconds: number;
}

/** Parses the body of `POST /token`; for an invalid one returns a sentence that names the fault. */
export function readTokenRequest(text: string): TokenRequest | string {
  const body = objectIn(text);
  if (body === undefined) return 'The body is not a JSON object.';
  const unknown = Object.keys(body).some((name) => !members.has(name));
  if (unknown) return `The body may have the members ${[...members].join(', ')}, and no other.`;
  const { email, audience, expiresInSeconds = expiresInSecondsDefault } = body;
  if (typeof email !== 'string' || !/^[^\s@]{1,64}@[^\s@]{1,189}$/.test(email))
    return 'email must be an e-mail address.';
  if (typeof audience !== 'string' || audience === '' || audience.length > 1000)
    return 'audience must be a text of 1 to 1000 characters.';
  const seconds = Number.isInteger(expiresInSeconds) ? (expiresInSeconds as number) : 0;
  if (seconds < 1 || seconds > expiresInSecondsMax)
    return `expiresInSeconds must be a whole number from 1 to ${expiresInSecondsMax}.`;
  return { email, audience, expiresInSeconds: seconds };
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    return value as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
