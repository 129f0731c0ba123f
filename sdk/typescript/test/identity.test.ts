import { afterAll, beforeAll, expect, test } from 'vitest';
import { hashApiKey } from '../../../functions/identity/api-keys.ts';
import {
  type IssuedService,
  serviceAudience,
  startIssuedService,
} from '../../../test/support/issued-service.ts';
import {
  AuthenticationError,
  type ClientOptions,
  type FetchLike,
  PermissionDeniedError,
  SvcClient,
} from '../src/index.ts';
import { thrown } from './stage.ts';

const principal = 'writer@project.example';
const grants = [{ principal, tenants: ['acme'], operations: ['read', 'write'] }];
const apiKey = 'one-api-key';

/** The same service in three configurations: without keys, with optional keys, and with a required key. */
const services: Record<string, IssuedService> = {};
beforeAll(async () => {
  const hash = { 'Server:ApiKeyHashes:0': hashApiKey(apiKey) };
  services['without keys'] = await startIssuedService(grants);
  services['with keys that may be given'] = await startIssuedService(grants, {
    ...hash,
    'Server:RequireApiKey': 'false',
  });
  services['with keys that must be given'] = await startIssuedService(grants, hash);
});
afterAll(() => Promise.all(Object.values(services).map((service) => service.close())));

function clientOf(service: IssuedService, options: ClientOptions): SvcClient {
  const fetch: FetchLike = async (url, { method = 'GET', headers, body }) => {
    const { pathname, search } = new URL(url);
    const given = { method, path: `${pathname}${search}`, headers: Object.fromEntries(new Headers(headers)) };
    const answer = await service.call(body == null ? given : { ...given, body });
    return new Response(answer.status === 204 ? null : answer.body, answer);
  };
  return new SvcClient({ baseUrl: 'https://svc.example', apiKey: null, token: null, fetch, ...options });
}

const commit = { idempotencyKey: 'k', outbox: [{ topic: 't', key: 'k', payload: {} }] };

test.each([
  ['without keys', false],
  ['with keys that may be given', false],
  ['with keys that may be given', true],
  ['with keys that must be given', true],
] as const)('a service %s knows a token; with a key: %s', async (name, withKey) => {
  const service = services[name] ?? expect.fail();
  const mint = (email: string) => service.issuer.mint({ email, audience: serviceAudience });
  const key = withKey ? { apiKey } : {};
  const known = clientOf(service, { ...key, token: () => mint(principal) });
  expect(await known.commitCanonicalTransaction('acme', commit)).toMatchObject({ actor: principal });
  await thrown(known.commitCanonicalTransaction('other', commit), PermissionDeniedError);
  const stranger = clientOf(service, { ...key, token: () => mint('stranger@project.example') });
  await thrown(stranger.commitCanonicalTransaction('acme', commit), PermissionDeniedError);
  const expired = clientOf(service, { ...key, token: 'a.b.c' });
  expect(await thrown(expired.commitCanonicalTransaction('acme', commit), AuthenticationError)).toMatchObject(
    {
      code: 'unauthenticated',
      retryable: false,
    },
  );
});

test('a key alone opens no tenant, and a token alone no door that needs a key', async () => {
  const service = services['with keys that must be given'] ?? expect.fail();
  const token = await service.issuer.mint({ email: principal, audience: serviceAudience });
  await thrown(clientOf(service, { token }).commitCanonicalTransaction('acme', commit), AuthenticationError);
  await thrown(
    clientOf(service, { apiKey }).commitCanonicalTransaction('acme', commit),
    PermissionDeniedError,
  );
  expect(await clientOf(service, {}).health()).toMatchObject({ status: 'ok' });
});
