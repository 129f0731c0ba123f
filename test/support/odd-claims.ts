import * as fc from 'fast-check';
import { audience, type Claims, email, issuer } from './tokens.ts';

/** Claims and headers that are good but for some members, and a judge of them that shares nothing with the service. */

const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 1 }),
  fc.constantFrom<unknown>(undefined, null, '', true, 'true', 0, -1, 1e308, NaN, [], {}),
);

/** Mostly good: a token with many faults proves nothing about each of them. */
function mostly(good: unknown, ...bad: readonly unknown[]): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 24, arbitrary: fc.constant(good) },
    { weight: 4, arbitrary: fc.constantFrom(...bad) },
    { weight: 1, arbitrary: anything },
  );
}

const steps = [
  0, 1, 30, 59, 60, 61, 200, 299, 300, 301, 3600, 86_339, 86_340, 86_341, 86_399, 86_400, 86_401, 86_460,
  89_989, 89_990, 89_991, 90_000, 90_001,
];
const offsets = steps.flatMap((step) => [step, -step]);

function time(now: number, good: number): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 12, arbitrary: fc.constant(now + good) },
    { weight: 8, arbitrary: fc.constantFrom(...offsets).map((offset) => now + offset) },
    { weight: 1, arbitrary: fc.constantFrom<unknown>(String(now + good), now + good + 0.5, [now + good]) },
    { weight: 1, arbitrary: anything },
  );
}

/** At `now`, in seconds. As a token says them: without what JSON cannot hold. */
export function oddClaims(now: number): fc.Arbitrary<Claims> {
  const upper = email.toUpperCase();
  return fc
    .record({
      iss: mostly(issuer, `${issuer}/`, `${issuer}.evil.test`, issuer.toUpperCase(), [issuer]),
      aud: mostly(
        audience,
        [audience],
        [audience, 'x'],
        `${audience}/`,
        audience.slice(1),
        audience.toUpperCase(),
      ),
      sub: mostly('1', '', '1'.repeat(255), '1'.repeat(256), 'a b', 'ä', '\n', 1),
      email: mostly(
        email,
        upper,
        `${email} `,
        `+${email}`,
        `.${email}`,
        'a@b',
        'a-@b-.c',
        'a@b-c.d',
        'ä@b.c',
        [email],
      ),
      email_verified: mostly(true, false, 'true', 1, undefined),
      iat: time(now, -10),
      exp: time(now, 3000),
      nbf: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, time(now, 0)),
      azp: mostly('party', 'Party', 'other', ['party'], undefined),
    })
    .map((claims) => JSON.parse(JSON.stringify(claims)) as Claims);
}

export function isGoodClaims(claims: Claims, now: number): boolean {
  const whole = (value: unknown) => typeof value === 'number' && value >= 0 && Math.floor(value) === value;
  const { iat, exp, nbf } = claims as Record<string, number>;
  const nbfOr = 'nbf' in claims ? nbf : 0;
  if (![iat, exp, nbfOr].every((each) => whole(each))) return false;
  const inTime = [now - (exp ?? 0) < 60, (iat ?? 0) - now <= 60, (nbfOr ?? 0) - now <= 60];
  const short = (exp ?? 0) <= (iat ?? 0) + 25 * 60 * 60;
  const named = claims['iss'] === issuer && claims['aud'] === audience && claims['azp'] === 'party';
  return named && short && !inTime.includes(false) && isGoodSubject(claims['sub']) && isGoodEmail(claims);
}

function isGoodSubject(sub: unknown): boolean {
  if (typeof sub !== 'string' || sub.length === 0 || sub.length > 255) return false;
  return Buffer.from(sub).every((byte) => byte >= 0x20 && byte < 0x7f);
}

/** A dot-atom of lower-case letters, digits and four signs, an @, and at least two labels of a host name. */
function isGoodEmail({ email: address, email_verified: verified }: Claims): boolean {
  if (typeof address !== 'string' || verified !== true || address.length > 254) return false;
  const [local = '', domain = '', ...more] = address.split('@');
  const atoms = local.split('.').every((atom) => consistsOf(atom, `${lowers}_'+-`));
  const labels = domain.split('.');
  const hosts = labels.every((label) => consistsOf(label, `${lowers}-`) && !/^-|-$/.test(label));
  return more.length === 0 && atoms && hosts && labels.length > 1;
}

const lowers = 'abcdefghijklmnopqrstuvwxyz0123456789';

function consistsOf(text: string, characters: string): boolean {
  return text !== '' && Array.from(text).every((each) => characters.includes(each));
}

const forbidden = ['crit', 'b64', 'jwk', 'jku', 'x5u', 'x5c', 'cty', 'zip', 'enc'];

export function oddHeader(kid: string): fc.Arbitrary<Claims> {
  const none = { weight: 6, arbitrary: fc.constant({}) };
  const one = fc.tuple(fc.constantFrom(...forbidden, 'x5t', 'x5t#S256', 'ver', 'Crit', 'nonce'), anything);
  return fc
    .record({
      alg: mostly('RS256', 'none', 'HS256', 'ES256', 'RS512', 'rs256', ['RS256'], undefined),
      kid: mostly(kid, [kid], `${kid} `, '', 'k'.repeat(256), 'k'.repeat(257), 'ä', undefined),
      typ: mostly('JWT', 'jwt', undefined, 'Jwt', 'at+jwt', 'JOSE', ['JWT']),
      more: fc.oneof(none, { weight: 1, arbitrary: one.map(([name, value]) => ({ [name]: value })) }),
    })
    .map(({ more, ...header }) => JSON.parse(JSON.stringify({ ...header, ...more })) as Claims);
}

/** As far as its form goes; whether the key exists is another question. */
export function isGoodHeader(header: Claims): boolean {
  const { alg, kid } = header;
  const types: readonly unknown[] = ['JWT', 'jwt'];
  const typed = !('typ' in header) || types.includes(header['typ']);
  if (alg !== 'RS256' || !typed || typeof kid !== 'string') return false;
  const visible = Buffer.from(kid).every((byte) => byte > 0x20 && byte < 0x7f);
  return (
    visible &&
    kid.length > 0 &&
    kid.length <= 256 &&
    Object.keys(header).every((name) => !forbidden.includes(name))
  );
}
