import { describe, expect, test } from 'vitest';
import { loadConfiguration } from './load.ts';
import { isOpen, isProtectedByNetworkOnly } from './rules.ts';

function settingsOf(given: Record<string, string>) {
  const argv = Object.entries(given).map(([key, value]) => `--${key}=${value}`);
  const { settings, faults } = loadConfiguration({
    host: 'embedded',
    env: {},
    argv,
    readFile: () => undefined,
  });
  if (settings === undefined) throw new Error(faults.map(({ message }) => message).join());
  return settings;
}

const canonical = {
  'Server:CanonicalAccess:AllowedAudiences:0': 'a',
  'Server:CanonicalAccess:IdentityPolicies:0:Principal': 'a@b.c',
  'Server:CanonicalAccess:IdentityPolicies:0:AllowedTenantIds:0': 't',
  'Server:CanonicalAccess:IdentityPolicies:0:AllowedOperations:0': 'read',
};
const execution = {
  'ExecutionRuntime:ProductPolicies:0:ProductId': 'p',
  'Server:ExecutionAccess:AllowedAudiences:0': 'a',
  'Server:ExecutionAccess:IdentityPolicies:0:Principal': 'a@b.c',
  'Server:ExecutionAccess:IdentityPolicies:0:ProductId': 'p',
  'Server:ExecutionAccess:IdentityPolicies:0:AllowedOperations:0': 'start_run',
};

describe('Development is open', () => {
  test.each<[string, Record<string, string>, boolean]>([
    ['as it comes', {}, true],
    ['with policies of one part', execution, true],
    ['with policies of the other', canonical, true],
    ['with policies of all that is served', { ...canonical, ...execution }, false],
    // The usage of a tenant is read with a right of the execution runtime.
    ['with policies of one part, and no other', { ...canonical, 'ExecutionRuntime:Enabled': 'false' }, true],
    [
      'with policies of both, and only one served',
      { ...canonical, ...execution, 'ExecutionRuntime:Enabled': 'false' },
      false,
    ],
    ['with an API key', { 'Server:ApiKey': 'k' }, false],
    [
      'where a part without policies is not served',
      { ...execution, 'CanonicalStore:Enabled': 'false' },
      false,
    ],
    [
      'where only what is open to everybody is served',
      { 'CanonicalStore:Enabled': 'false', 'ExecutionRuntime:Enabled': 'false' },
      false,
    ],
    ['elsewhere', { Environment: 'Staging', ...canonical }, false],
  ])('%s: %o', (_, given, open) => {
    expect(isOpen(settingsOf(given))).toBe(open);
  });

  const contract = [
    { group: 'server', authorizationClass: 'anonymous' },
    { group: 'canonical', authorizationClass: 'canonical-policy' },
    { group: 'execution', authorizationClass: 'execution-policy' },
  ] as const;
  test.each<[string, Record<string, string>, boolean]>([
    ['policies of one part leave the other open', canonical, true],
    ['and the other way round', execution, true],
    ['policies of both close it', { ...canonical, ...execution }, false],
    ['a store that is off needs none', { ...execution, 'CanonicalStore:Enabled': 'false' }, false],
  ])('with the execution runtime: %s', (_, given, open) => {
    expect(isOpen(settingsOf(given), contract)).toBe(open);
  });

  test('a class that no part is about is open', () => {
    const other = [{ group: 'server', authorizationClass: 'new-policy' }] as const;
    expect(isOpen(settingsOf({ ...canonical, ...execution }), other)).toBe(true);
  });
});

test('only reaching it is needed where it is open or believes names, unless strangers are let in on purpose', () => {
  const named = { ...canonical, ...execution };
  const believing = { ...named, 'Server:CanonicalAccess:AuthenticationMode': 'development-header' };
  expect(isProtectedByNetworkOnly(settingsOf({}))).toBe(true);
  expect(isProtectedByNetworkOnly(settingsOf(believing))).toBe(true);
  expect(isProtectedByNetworkOnly(settingsOf(named))).toBe(false);
  expect(isProtectedByNetworkOnly(settingsOf({ 'Server:AllowRemoteDevelopment': 'true' }))).toBe(false);
});
