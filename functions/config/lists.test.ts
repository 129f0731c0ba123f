import { describe, expect, test } from 'vitest';
import { faultsText } from './fault.ts';
import { type ConfigurationInput, loadConfiguration } from './load.ts';

/** An empty list can mean all: a dropped blank item would then widen the access of a caller. */

interface Given extends Pick<Partial<ConfigurationInput>, 'env' | 'argv'> {
  readonly file?: unknown;
  readonly overlay?: unknown;
}

function load({ file = {}, overlay, env = {}, argv = [] }: Given) {
  const files: Record<string, unknown> = {
    'svcsettings.json': file,
    'svcsettings.Development.json': overlay,
  };
  const readFile = (path: string) => {
    const content = files[path];
    return content === undefined || typeof content === 'string' ? content : JSON.stringify(content);
  };
  return loadConfiguration({ host: 'embedded', env, argv, readFile });
}

function faultsOf(given: Given): string {
  const { faults } = load(given);
  return faults.length === 0 ? '' : faultsText(faults);
}

const product = { ExecutionRuntime: { ProductPolicies: [{ ProductId: 'p' }] } };
const executing = (lists: object) => ({
  ...product,
  Server: {
    ExecutionAccess: {
      AllowedAudiences: ['a'],
      IdentityPolicies: [{ Principal: 'x@y.z', ProductId: 'p', AllowedOperations: ['start_run'], ...lists }],
    },
  },
});
const policy = 'Server__ExecutionAccess__IdentityPolicies__0__';
const executingEnv = {
  ExecutionRuntime__ProductPolicies__0__ProductId: 'p',
  Server__ExecutionAccess__AllowedAudiences__0: 'a',
  [`${policy}Principal`]: 'x@y.z',
  [`${policy}ProductId`]: 'p',
  [`${policy}AllowedOperations__0`]: 'start_run',
};

describe('a blank item of a list stops the start', () => {
  test.each<[string, Given]>([
    ['an empty text in a file', { file: executing({ AllowedTenantIds: [''] }) }],
    ['white space in a file', { file: executing({ AllowedTenantIds: [' \t'] }) }],
    ['null in a file', { file: executing({ AllowedHandlerIds: [null] }) }],
    ['one of several', { file: executing({ AllowedTenantIds: ['acme', ''] }) }],
    ['an empty variable', { env: { ...executingEnv, [`${policy}AllowedTenantIds__0`]: '' } }],
    ['a blank variable', { env: { ...executingEnv, [`${policy}AllowedHandlerIds__0`]: ' ' } }],
    ['a blank party', { env: { Server__Oidc__AuthorizedParties__0: ' ' } }],
    ['a blank key hash', { env: { Server__ApiKeyHashes__0: '' } }],
    ['a blank argument', { argv: ['--Server:Oidc:AuthorizedParties:0='] }],
    ['a policy that is nothing', { file: { Server: { CanonicalAccess: { IdentityPolicies: [null] } } } }],
  ])('%s', (_, given) => {
    expect(faultsOf(given)).toMatch(/:0 .*is a blank item|:1 .*is a blank item/);
  });

  test.each<[string, Given, RegExp]>([
    [
      'an object for an item',
      { file: executing({ AllowedTenantIds: [{}] }) },
      /AllowedTenantIds:0 .*must be/,
    ],
    ['a list for an item', { file: executing({ AllowedTenantIds: [[]] }) }, /AllowedTenantIds:0 .*must be/],
    ['an object for a list', { file: executing({ AllowedTenantIds: {} }) }, /AllowedTenantIds .*is a list/],
    [
      'an empty policy',
      { file: { Server: { CanonicalAccess: { IdentityPolicies: [{}] } } } },
      /IdentityPolicies:0 .*is an object/,
    ],
    [
      'a text for a policy',
      { file: { Server: { CanonicalAccess: { IdentityPolicies: ['a@b.c'] } } } },
      /IdentityPolicies:0 .*is an object/,
    ],
    [
      'an empty object for a number',
      { file: { Server: { Port: {} } } },
      /Server:Port .*must be a whole number/,
    ],
  ])('and so does %s', (_, given, expected) => {
    expect(faultsOf(given)).toMatch(expected);
  });

  test('a list that is absent, or empty on purpose, keeps its meaning', () => {
    for (const lists of [{}, { AllowedTenantIds: [], AllowedHandlerIds: [] }])
      expect(faultsOf({ file: executing(lists) })).toBe('');
    // A blank that is no item still says nothing.
    expect(faultsOf({ env: { PORT: ' ', Server__Port: '' }, argv: ['--Server:Host='] })).toBe('');
  });
});

describe('an empty list is a value', () => {
  const granting = {
    Server: {
      CanonicalAccess: {
        AllowedAudiences: ['a'],
        IdentityPolicies: [{ Principal: 'old@x.y', AllowedTenantIds: ['*'], AllowedOperations: ['write'] }],
      },
    },
  };

  test('one that would take back the grants of another file is not passed over', () => {
    const overlay = { Server: { CanonicalAccess: { IdentityPolicies: [] } } };
    expect(faultsOf({ file: granting, overlay })).toMatch(
      /IdentityPolicies \(.*svcsettings\.Development\.json.*\): comes from several sources/,
    );
    const env = { Server__CanonicalAccess__IdentityPolicies: '[]' };
    expect(faultsOf({ file: granting, env })).toMatch(/comes from several sources/);
  });

  test('a single one replaces the default', () => {
    const origins = (given: Given) => load(given).settings?.cors.allowedOrigins;
    expect(origins({})).toContain('http://localhost:5173');
    expect(origins({ file: { Cors: { AllowedOrigins: [] } } })).toEqual([]);
    expect(origins({ overlay: { 'Cors:AllowedOrigins': [] } })).toEqual([]);
    expect(origins({ env: { Cors__AllowedOrigins: '[]' } })).toEqual([]);
    expect(origins({ argv: ['--Cors:AllowedOrigins=[]'] })).toEqual([]);
    // Two that say the same do not mix anything.
    const twice = { file: { Cors: { AllowedOrigins: [] } }, argv: ['--Cors:AllowedOrigins=[]'] };
    expect(origins(twice)).toEqual([]);
  });

  test('one that has items as well contradicts itself', () => {
    const env = { Cors__AllowedOrigins: '[]', Cors__AllowedOrigins__0: 'https://a.example' };
    expect(faultsOf({ env })).toMatch(/AllowedOrigins .*is set to be empty, and has items/);
  });

  test('no issuer at all is a fault where tokens are read', () => {
    const { CanonicalAccess } = granting.Server;
    const file = { Server: { CanonicalAccess, Oidc: { Issuers: [], KeySetUrl: 'https://i.example/k' } } };
    expect(faultsOf({ file })).toMatch(/Oidc:Issuers .*is empty: no token could be accepted/);
  });
});

describe('a member that is given twice in one object', () => {
  test.each([
    ['at the top', '{"Server":{"Port":1},"Server":{"Port":1}}', /Server \(svcsettings\.json\)/],
    [
      'in a policy',
      JSON.stringify(executing({ AllowedTenantIds: ['acme'] })).replace(
        '"AllowedTenantIds":["acme"]',
        '"AllowedTenantIds":["acme"],"AllowedTenantIds":["*"]',
      ),
      /IdentityPolicies:0:AllowedTenantIds \(svcsettings\.json\)/,
    ],
    ['in another spelling', '{"Server":{"Port":1,"\\u0070ort":1}}', /Server:port \(svcsettings\.json\)/],
  ])('%s is named by its path', (_, file, key) => {
    const faults = faultsOf({ file });
    expect(faults).toMatch(/is given twice in one object/);
    expect(faults).toMatch(key);
  });
});
