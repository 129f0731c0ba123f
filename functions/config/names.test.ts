import { describe, expect, test } from 'vitest';
import { faultsText } from './fault.ts';
import { loadConfiguration } from './load.ts';

/** The accepted forms of a variable's name, and the refusal of an unknown one. */

function load(env: Record<string, string>, file: unknown = {}, argv: readonly string[] = []) {
  const readFile = (path: string) => (path === 'svcsettings.json' ? JSON.stringify(file) : undefined);
  return loadConfiguration({ host: 'embedded', env, argv, readFile });
}

function faultsOf(env: Record<string, string>, file: unknown = {}): string {
  const { faults } = load(env, file);
  return faults.length === 0 ? '' : faultsText(faults);
}

describe('one setting under another name', () => {
  test.each<[string, Record<string, string>, unknown, readonly string[]]>([
    ['a colon in the environment', { 'CanonicalStore:Enabled': 'false' }, {}, []],
    ['Svc: in the environment', { Svc__CanonicalStore__Enabled: 'false' }, {}, []],
    ['Svc: and a colon', { 'Svc:CanonicalStore:Enabled': 'false' }, {}, []],
    ['Svc: in capitals', { SVC__CANONICALSTORE__ENABLED: 'false' }, {}, []],
    ['Svc: in a file', {}, { Svc: { CanonicalStore: { Enabled: false } } }, []],
    ['Svc: on the command line', {}, {}, ['--Svc:CanonicalStore:Enabled=false']],
  ])('%s', (_, env, file, argv) => {
    expect(load(env, file, argv).settings?.canonicalStore.enabled).toBe(false);
  });

  test('two names that disagree are a fault', () => {
    const env = { Server__Port: '1', 'Server:Port': '2' };
    expect(faultsOf(env)).toMatch(/Server:Port .*is given twice/);
    expect(faultsOf({ Svc__Server__Port: '1', Server__Port: '2' })).toMatch(/is given twice/);
    expect(faultsOf({ Svc__Server__Port: '1', Server__Port: '1' })).toBe('');
  });

  test('two names of one list do not mix', () => {
    const env = { Svc__Server__Oidc__AuthorizedParties__0: 'a', Server__Oidc__AuthorizedParties__0: 'b' };
    expect(faultsOf(env)).toMatch(/is given twice/);
  });
});

describe('an unknown name stops the start', () => {
  test.each([
    ['SVC_REQUIRE_API_KEY', /did you mean Server__RequireApiKey\?/],
    ['SVC_API_KEYS', /did you mean SVC_API_KEY\?/],
    ['SVC_CANONICALSTORE_ENABLED', /did you mean CanonicalStore__Enabled\?|SVC_CANONICAL_STORE_ENABLED\?/],
    ['SVC_PORT', /did you mean Server__Port\?/],
    ['SVC_ANYTHING', /SVC_ANYTHING .*is not known$/],
    ['svc_anything', /svc_anything .*is not known$/],
    ['Svc__Anything', /Svc:Anything .*is not known/],
    ['Svc__Serverr__Port', /Svc:Serverr:Port .*is not known/],
    ['Server:RequireApiKee', /Server:RequireApiKee .*did you mean Server:RequireApiKey\?/],
  ])('%s', (name, expected) => {
    expect(faultsOf({ [name]: 'true' })).toMatch(expected);
  });

  test('but not when it belongs to a known other program', () => {
    const env = {
      SVC_SETTINGS: 'svcsettings.json',
      SVC_BASE_URL: 'https://of-the-sdk.example',
      SVC_SERVER: 'https://of-the-tool.example',
      SVC_IDENTITY_TOKEN: 'of the tool',
      SVC_HOSTED_WORKER_PORT: '1',
      SVC_SERVICE_HOST: '10.0.0.1',
      SVC_SERVICE_PORT_HTTP: '80',
      SVC_PORT: 'tcp://10.0.0.1:80',
      SVC_PORT_80_TCP_ADDR: '10.0.0.1',
      SVC_WORKER_PORT: 'tcp://10.0.0.2:80',
      SVC_ANYTHING: ' ',
      'Other:Key': '1',
      SVCS: '1',
    };
    expect(faultsOf(env)).toBe('');
  });
});

test('a refused address or origin is not quoted: there may be a password in it', () => {
  const faults = faultsOf({
    Server__Oidc__KeySetUrl: 'https://user:hunter2@idp.example/keys',
    Server__Oidc__Issuers__0: 'https://user:hunter2@idp.example/ä',
    Cors__AllowedOrigins__0: 'https://u:hunter2@app.example',
    FIRESTORE_EMULATOR_HOST: 'http://u:hunter2@localhost',
  });
  expect(faults).toContain('has 4 faults');
  expect(faults).not.toContain('hunter2');
});

describe('an issuer and its keys', () => {
  const google = 'https://accounts.google.com';
  const keys = 'https://www.googleapis.com/oauth2/v3/certs';
  test.each<[Record<string, string>, RegExp | '']>([
    [{ Server__Oidc__Issuers__0: google }, ''],
    [{ Server__Oidc__Issuers__0: google, Server__Oidc__KeySetUrl: keys }, ''],
    [{ Server__Oidc__KeySetUrl: keys }, ''],
    [{ Server__Oidc__Issuers__0: 'https://i.example', Server__Oidc__KeySetUrl: keys }, ''],
    [{ Server__Oidc__Issuers__0: google, Server__Oidc__KeySetUrl: 'https://i.example/k' }, ''],
    [{ Server__Oidc__Issuers__0: 'https://i.example' }, /KeySetUrl .*must be set together/],
    [
      { Server__Oidc__Issuers__0: google, Server__Oidc__Issuers__1: 'https://i.example' },
      /KeySetUrl .*must be set together/,
    ],
    [{ Server__Oidc__KeySetUrl: 'https://i.example/k' }, /Issuers .*must be set together/],
  ])('%o', (env, expected) => {
    if (expected === '') expect(faultsOf(env)).toBe('');
    else expect(faultsOf(env)).toMatch(expected);
  });
});
