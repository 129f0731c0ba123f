import { expect, test } from 'vitest';
import { faultsText } from './fault.ts';
import { loadConfiguration } from './load.ts';

interface Given {
  readonly file?: Record<string, unknown>;
  readonly argv?: readonly string[];
  readonly env?: Record<string, string>;
}

function faultsOf(
  { file = {}, argv = [], env = {} }: Given,
  host: 'embedded' | 'functions' = 'embedded',
): string {
  const readFile = (path: string) => (path === 'svcsettings.json' ? JSON.stringify(file) : undefined);
  const { faults } = loadConfiguration({ host, env, argv, readFile });
  return faults.length === 0 ? '' : faultsText(faults);
}

const canonical = (members: object, access: object = {}): Given => ({
  file: {
    Server: {
      CanonicalAccess: { AllowedAudiences: ['https://svc.example'], IdentityPolicies: [members], ...access },
    },
  },
});
const whole = { Principal: 'p@x.example', AllowedTenantIds: ['*'], AllowedOperations: ['admin', 'export'] };

test('a whole policy is accepted, in Development and outside it', () => {
  expect(faultsOf(canonical(whole))).toBe('');
  expect(faultsOf({ ...canonical(whole), argv: ['--environment=Production'] })).toBe('');
  expect(
    faultsOf(canonical({ ...whole, AllowedTenantIds: ['a', 'b'], AllowedOperations: ['read', 'restore'] })),
  ).toBe('');
});

test.each<[string, Given, RegExp]>([
  ['no principal', canonical({ ...whole, Principal: ' ' }), /has no Principal/],
  ['no tenants', canonical({ ...whole, AllowedTenantIds: [] }), /has no AllowedTenantIds/],
  ['no operations', canonical({ ...whole, AllowedOperations: null }), /has no AllowedOperations/],
  ['D06: star and names', canonical({ ...whole, AllowedTenantIds: ['*', 'a'] }), /combines the tenant \*/],
  ['path in a tenant', canonical({ ...whole, AllowedTenantIds: ['a/b'] }), /not a single path segment/],
  [
    'a pattern of tenants',
    canonical({ ...whole, AllowedTenantIds: ['acme-*'], AllowedOperations: ['read'] }),
    /a tenant with a \* in it: there are no patterns/,
  ],
  [
    'a principal as policies of a cloud write it',
    canonical({ ...whole, Principal: 'serviceAccount:p@x.example' }),
    /IdentityPolicies:0 .*no e-mail address, as tokens name it/,
  ],
  ['a principal without a domain', canonical({ ...whole, Principal: 'p' }), /no e-mail address/],
  ['dots as a tenant', canonical({ ...whole, AllowedTenantIds: ['..'] }), /not a single path segment/],
  ['percent in a tenant', canonical({ ...whole, AllowedTenantIds: ['a%2fb'] }), /not a single path segment/],
  [
    'a tenant of another spelling',
    canonical({ ...whole, AllowedTenantIds: ['e\u0301'] }),
    /not a single path segment/,
  ],
  ['unknown operation', canonical({ ...whole, AllowedOperations: ['own'] }), /allows own, which is none of/],
  [
    'operation in capitals',
    canonical({ ...whole, AllowedOperations: ['Read'] }),
    /allows Read, which is none of/,
  ],
  [
    'admin of one tenant',
    canonical({ ...whole, AllowedTenantIds: ['a'] }),
    /admin, which needs the tenant \*/,
  ],
  ['A10: no audience', canonical(whole, { AllowedAudiences: [] }), /AllowedAudiences .* is empty/],
  [
    'unknown mode',
    canonical(whole, { AuthenticationMode: 'saml' }),
    /saml is none of google-oidc, development-header/,
  ],
  [
    'A24: development-header outside Development',
    { ...canonical(whole, { AuthenticationMode: 'development-header' }), argv: ['--environment=Production'] },
    /refused outside Development/,
  ],
  [
    'A24: development-header outside Development, also with an authenticator of the application',
    {
      ...canonical(whole, { AuthenticationMode: 'development-header', AuthenticatorType: './a.mjs' }),
      argv: ['--environment=Production'],
    },
    /refused outside Development/,
  ],
  [
    'development-header beyond loopback',
    { ...canonical(whole, { AuthenticationMode: 'development-header' }), argv: ['--host=0.0.0.0'] },
    /Server:Host .* reachable from other machines/,
  ],
  [
    'an issuer without its keys',
    { file: { Server: { Oidc: { Issuers: ['https://i.example'] } } } },
    /KeySetUrl .* must be set together/,
  ],
  [
    'keys without their issuer',
    { file: { Server: { Oidc: { KeySetUrl: 'https://i.example/k' } } } },
    /Issuers .* must be set together/,
  ],
  [
    'keys in clear',
    { file: { Server: { Oidc: { Issuers: ['https://i.example'], KeySetUrl: 'http://i.example/k' } } } },
    /KeySetUrl .* must be https/,
  ],
  [
    'keys in clear from what only looks like loopback',
    { file: { Server: { Oidc: { Issuers: ['i'], KeySetUrl: 'http://127.0.0.1.evil.example/k' } } } },
    /KeySetUrl .* must be https/,
  ],
  [
    'A17: a platform that is not there',
    { ...canonical(whole), argv: ['--Server:Oidc:Verification=platform'] },
    /Verification .* there is none/,
  ],
])('%s', (_, given, expected) => {
  expect(faultsOf(given)).toMatch(expected);
});

test('a principal may be another text than an address when tokens are not read, or are named by their subject', () => {
  const named = { ...whole, Principal: 'serviceAccount:p' };
  const sub = { Oidc: { PrincipalClaim: 'sub' } };
  const { file } = canonical(named);
  const server = (file as { Server: object }).Server;
  expect(faultsOf({ file: { Server: { ...server, ...sub } } })).toBe('');
  expect(faultsOf(canonical(named, { AuthenticationMode: 'development-header' }))).toBe('');
  expect(faultsOf(canonical(named, { AuthenticatorType: './a.mjs' }))).toBe('');
  expect(faultsOf(canonical({ ...whole, Principal: 'P@X.Example' }))).toBe('');
});

test('a custom authenticator brings its own mode, and needs no audience', () => {
  expect(
    faultsOf(
      canonical(whole, { AuthenticationMode: 'mtls', AuthenticatorType: './a.mjs', AllowedAudiences: [] }),
    ),
  ).toBe('');
});

test('an issuer on loopback may publish in clear, but not to a cloud service', () => {
  const file = {
    Server: { Oidc: { Issuers: ['http://127.0.0.1:9000'], KeySetUrl: 'http://127.0.0.1:9000/keys' } },
  };
  expect(faultsOf({ file })).toBe('');
  const env = { K_SERVICE: 'canonical', CanonicalStore__Enabled: 'false' };
  expect(faultsOf({ file, env }, 'functions')).toMatch(/must be https/);
});

test('the platform may verify where there is one', () => {
  const given = {
    ...canonical(whole),
    env: { K_SERVICE: 'canonical', Server__Oidc__Verification: 'platform' },
  };
  expect(faultsOf(given, 'functions')).toBe('');
});

const execution = (members: object, products: readonly object[] = [{ ProductId: 'claims' }]): Given => ({
  file: {
    Server: { ExecutionAccess: { AllowedAudiences: ['https://svc.example'], IdentityPolicies: [members] } },
    ExecutionRuntime: { ProductPolicies: products },
  },
});
const worker = {
  Principal: 'w@x.example',
  ProductId: 'claims',
  WorkerId: 'w1',
  AllowedOperations: ['worker'],
};

test('a worker may be bound to an identity of its product', () => {
  expect(faultsOf(execution(worker))).toBe('');
  expect(faultsOf(execution(worker, [{ ProductId: 'claims', AllowedServiceIdentities: ['w1'] }]))).toBe('');
});

test.each<[string, Given, RegExp]>([
  ['no principal', execution({ ...worker, Principal: null }), /has no Principal/],
  ['no product', execution({ ...worker, ProductId: null }), /has no ProductId/],
  ['no operations', execution({ ...worker, AllowedOperations: [] }), /has no AllowedOperations/],
  [
    'an operation of the other store',
    execution({ ...worker, AllowedOperations: ['read'] }),
    /allows read, which is none of start_run/,
  ],
  [
    'D10: a worker without an id',
    execution({ ...worker, WorkerId: null }),
    /allows worker without a WorkerId/,
  ],
  [
    'a pattern of tenants',
    execution({ ...worker, AllowedTenantIds: ['acme-*'] }),
    /with a \* in it: there are no patterns/,
  ],
  [
    'a principal that tokens do not name',
    execution({ ...worker, Principal: 'user:w@x.example' }),
    /ExecutionAccess:IdentityPolicies:0 .*no e-mail address/,
  ],
  ['a star', execution({ ...worker, AllowedHandlerIds: ['*'] }), /leave the list empty to allow all/],
  ['a product without a policy', execution(worker, []), /names a product that has no policy/],
  [
    'D10: a worker id of no identity of the product',
    execution(worker, [{ ProductId: 'claims', AllowedServiceIdentities: ['w2'] }]),
    /none of the AllowedServiceIdentities/,
  ],
  [
    'a product twice',
    execution(worker, [{ ProductId: 'claims' }, { ProductId: 'claims' }]),
    /has a policy already/,
  ],
  [
    'a product without a name',
    execution(worker, [{ ProductId: 'claims' }, {}, { AllowedTenantIds: ['t'] }]),
    /ProductPolicies:2 .*has no ProductId|ProductPolicies:1 .*has no ProductId/,
  ],
  [
    'no audience',
    {
      file: {
        Server: { ExecutionAccess: { IdentityPolicies: [worker] } },
        ExecutionRuntime: { ProductPolicies: [{ ProductId: 'claims' }] },
      },
    },
    /ExecutionAccess:AllowedAudiences .* is empty/,
  ],
])('execution: %s', (_, given, expected) => {
  expect(faultsOf(given)).toMatch(expected);
});

test.each([
  'authorization',
  'Content-Type',
  'idempotency-key',
  'mcp-name',
  'X-Forwarded-User',
  'x-goog-iap-jwt-assertion',
  'cookie',
])('the header %s can carry neither a key nor a name', (name) => {
  expect(faultsOf({ env: { SVC_API_KEY_HEADER: name } })).toMatch(/ApiKeyHeader .*carries something else/);
  const key = 'Server__CanonicalAccess__DevelopmentIdentityHeader';
  expect(faultsOf({ env: { [key]: name } })).toMatch(/DevelopmentIdentityHeader .*carries something else/);
});

test('a list of grants comes from one source, or the service does not start', () => {
  const { file = {} } = canonical({ ...whole, AllowedTenantIds: ['a'], AllowedOperations: ['read'] });
  for (const name of ['IdentityPolicies__0__AllowedTenantIds__1', 'AllowedAudiences__1']) {
    const env = { [`Server__CanonicalAccess__${name}`]: 'b' };
    expect(faultsOf({ file, env })).toMatch(/comes from several sources/);
  }
});
