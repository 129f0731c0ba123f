import { describe, expect, test } from 'vitest';
import { checkConfiguration } from './check.ts';
import type { Host } from './setting.ts';

const access = {
  CanonicalAccess: {
    AllowedAudiences: ['svc'],
    IdentityPolicies: [{ Principal: 'a@b.c', AllowedTenantIds: ['t'], AllowedOperations: ['read'] }],
  },
  ExecutionAccess: {
    AllowedAudiences: ['svc'],
    IdentityPolicies: [
      { Principal: 'a@b.c', ProductId: 'p', AllowedOperations: ['start_run', 'read_run'] },
      { Principal: 'w@b.c', ProductId: 'p', WorkerId: 'w', AllowedOperations: ['worker'] },
    ],
  },
};
const runtime = {
  ProductPolicies: [{ ProductId: 'p' }],
  ExternalHandlers: [{ HandlerId: 'refund.pay' }],
  MaxActiveRuns: 4_000,
};
const whole = {
  Environment: 'Production',
  Server: { TrustedProxyHops: 1, ...access },
  ExecutionRuntime: runtime,
};

type File = Readonly<Record<string, unknown>>;

function findingsOf(file: File, host: Host = 'embedded') {
  const readFile = (path: string) => (path === 'svcsettings.json' ? JSON.stringify(file) : undefined);
  return checkConfiguration({ host, env: {}, argv: [], readFile }).findings;
}

const server = (members: object): File => ({ ...whole, Server: { ...whole.Server, ...members } });
const execution = (members: object): File => ({ ...whole, ExecutionRuntime: { ...runtime, ...members } });
const executionPolicy = (members: object) =>
  server({
    ExecutionAccess: {
      AllowedAudiences: ['svc'],
      IdentityPolicies: access.ExecutionAccess.IdentityPolicies.map((policy) => ({ ...policy, ...members })),
    },
  });

test('says whether any setting is given', () => {
  const readFile = () => undefined;
  const given = (argv: readonly string[]) =>
    checkConfiguration({ host: 'embedded', env: {}, argv, readFile }).isGiven;
  expect(given([])).toBe(false);
  expect(given(['--Server:Port=1'])).toBe(true);
  // The fault of the file says enough.
  expect(given(['--settings=nowhere.json'])).toBe(true);
});

test('names each secret value that is given, and not the file of one', () => {
  const network = { Kind: 'openai-compatible', Model: 'm', BaseAddress: 'https://models.example' };
  const providers = [
    { ...network, Id: 'by-file', ApiKeyFile: '/run/secrets/key' },
    { ...network, Id: 'by-value', apikey: 'hush' },
  ];
  const file = JSON.stringify({ Providers: providers, Server: { ApiKeys: ['a', 'b'] } });
  const readFile = (path: string) => (path === 'svcsettings.json' ? file : undefined);
  const env = { CanonicalStore__ConnectionString: 'hush' };
  const { secrets } = checkConfiguration({ host: 'embedded', env, argv: [], readFile });
  expect(secrets.map(({ key, source }) => `${key} | ${source}`).sort()).toEqual([
    'CanonicalStore:ConnectionString | environment variable CanonicalStore__ConnectionString',
    'Providers:1:apikey | svcsettings.json',
    'Server:ApiKeys:0 | svcsettings.json',
    'Server:ApiKeys:1 | svcsettings.json',
  ]);
});

test('a whole configuration has no finding', () => {
  expect(findingsOf(whole)).toEqual([]);
  expect(findingsOf({})).toEqual([]);
});

describe('a fault has its setting and a remedy', () => {
  test.each<[string, File, string, RegExp, RegExp]>([
    [
      'unknown',
      { ...whole, Servr: { Port: 1 } },
      'Servr:Port',
      /mean Server:Port\?/,
      /^Rename it to Server:Port/,
    ],
    [
      'far',
      { ...whole, Zzzzzzzzzzzz: { Qqqqqqqqqqq: 1 } },
      'Zzzzzzzzzzzz:Qqqqqqqqqqq',
      /not known$/,
      /config schema/,
    ],
    [
      'a wrong type',
      server({ Port: 'x' }),
      'Server:Port',
      /whole number/,
      /^Set Server:Port \(environment Server__Port\)/,
    ],
    [
      'no audience',
      server({ CanonicalAccess: { ...access.CanonicalAccess, AllowedAudiences: [] } }),
      'Server:CanonicalAccess:AllowedAudiences',
      /is empty/,
      /AllowedAudiences__0/,
    ],
    [
      'no policies',
      server({ CanonicalAccess: {} }),
      'Server:CanonicalAccess:IdentityPolicies',
      /does not start/,
      /Grants of principals/,
    ],
  ])('%s', (_, file, key, message, remedy) => {
    expect(findingsOf(file)).toContainEqual({
      severity: 'fault',
      key,
      source: expect.any(String),
      message: expect.stringMatching(message),
      remedy: expect.stringMatching(remedy),
    });
  });
});

describe('a doubtful setting is a warning with its setting and a remedy', () => {
  const policies = 'Server:ExecutionAccess:IdentityPolicies';
  test.each<[string, File, string, RegExp]>([
    [
      'handlers without policies',
      server({ ExecutionAccess: {} }),
      policies,
      /runtime is off.*although 1 handlers/,
    ],
    [
      'Development with policies',
      { ...whole, Environment: 'Development' },
      'Environment',
      /open to every caller/,
    ],
    [
      'API keys that no caller must present',
      server({ RequireApiKey: false, ApiKeyFile: 'k' }),
      'Server:RequireApiKey',
      /leave the key out/,
    ],
    ['a key in clear', server({ ApiKey: 'clear' }), 'Server:ApiKey', /in clear text/],
    [
      'remote Development elsewhere',
      server({ AllowRemoteDevelopment: true }),
      'Server:AllowRemoteDevelopment',
      /no effect/,
    ],
    [
      'a proxy that is not counted',
      server({ TrustedProxyHops: 0 }),
      'Server:TrustedProxyHops',
      /share one address/,
    ],
    ['plain HTTP to others', server({ TrustedProxyHops: 0, Host: '0.0.0.0' }), 'Server:Host', /plain HTTP/],
    [
      'a plain origin',
      { ...whole, Cors: { AllowedOrigins: ['http://a.example'] } },
      'Cors:AllowedOrigins:0',
      /no https origin/,
    ],
    [
      'a queue of requests',
      server({ CanonicalRateLimit: { PermitLimit: 10, QueueLimit: 11 } }),
      'Server:CanonicalRateLimit:QueueLimit',
      /several windows/,
    ],
    [
      'no retention',
      execution({ MaxRetainedTerminalRuns: 0 }),
      'ExecutionRuntime:MaxRetainedTerminalRuns',
      /deletes every ended run/,
    ],
    [
      'little room for runs that wait',
      execution({ MaxActiveRuns: 100 }),
      'ExecutionRuntime:MaxActiveRuns',
      /one product and tenant have 25 active runs/,
    ],
    [
      'no retained hours',
      execution({ MinRetainedHours: 0 }),
      'ExecutionRuntime:MinRetainedHours',
      /execute a run again/,
    ],
    [
      'a misspelt handler',
      executionPolicy({ AllowedHandlerIds: ['refund.pya'] }),
      `${policies}:0:AllowedHandlerIds`,
      /did you mean refund\.pay\?/,
    ],
    [
      'a handler that no policy lets callers start',
      executionPolicy({ AllowedOperations: ['read_run', 'worker'], WorkerId: 'w' }),
      'ExecutionRuntime:ExternalHandlers:0',
      /no policy grants start_run/,
    ],
    [
      'a handler without workers',
      executionPolicy({ AllowedOperations: ['start_run'] }),
      'ExecutionRuntime:ExternalHandlers:0',
      /no policy grants worker/,
    ],
    [
      'a handler that every product excludes',
      {
        ...executionPolicy({ AllowedOperations: ['start_run', 'worker'], WorkerId: 'w' }),
        ExecutionRuntime: { ...runtime, ProductPolicies: [{ ProductId: 'p', AllowedHandlerIds: ['other'] }] },
      },
      'ExecutionRuntime:ExternalHandlers:0',
      /every product excludes the handler refund\.pay/,
    ],
    [
      'a tenant that the product refuses',
      {
        ...executionPolicy({ AllowedTenantIds: ['t'] }),
        ExecutionRuntime: { ...runtime, ProductPolicies: [{ ProductId: 'p', AllowedTenantIds: ['u'] }] },
      },
      `${policies}:0:AllowedTenantIds`,
      /the product p refuses/,
    ],
    [
      'keys of a file for tokens of Google',
      server({ Oidc: { Issuers: ['https://accounts.google.com'], KeySetFile: 'k' } }),
      'Server:Oidc:Issuers',
      /tokens of Google fail/,
    ],
  ])('%s', (_, file, key, message) => {
    const found = findingsOf(file).find((finding) => finding.key === key);
    expect(found).toMatchObject({ severity: 'warning', message: expect.stringMatching(message) });
    expect(found?.remedy).toMatch(/^[A-Z].*\.$/);
    expect(findingsOf(file).filter(({ severity }) => severity === 'fault')).toEqual([]);
  });
});

test('a finding names the source of its setting, and default where there is none', () => {
  expect(findingsOf(server({ TrustedProxyHops: 0 }))).toMatchObject([{ source: 'svcsettings.json' }]);
  const { TrustedProxyHops: _, ...rest } = whole.Server;
  expect(findingsOf({ ...whole, Server: rest })).toMatchObject([{ source: 'default' }]);
});

test('a function listens on no address of its own', () => {
  expect(findingsOf(server({ TrustedProxyHops: 0 }), 'functions')).toEqual([]);
});
