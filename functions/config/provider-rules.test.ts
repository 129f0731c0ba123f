import { expect, test } from 'vitest';
import { faultsText } from './fault.ts';
import { loadConfiguration } from './load.ts';

const KEY = 'Server:ProviderAccess:IdentityPolicies';
const own = { Principal: 'ada@shop.example', Space: 'acme', AllowedOperations: ['read', 'run'] };

function faultOf(policies: readonly object[], more: object = {}): string {
  const ProviderAccess = { AllowedAudiences: ['svc'], IdentityPolicies: policies };
  const file = JSON.stringify({ Server: { ProviderAccess, ...more } });
  const readFile = (path: string) => (path === 'svcsettings.json' ? file : undefined);
  const { faults } = loadConfiguration({ host: 'embedded', env: {}, argv: [], readFile });
  return faults.length === 0 ? '' : faultsText(faults);
}

test('a policy grants operations of providers in one space', () => {
  expect(faultOf([own, { ...own, AllowedOperations: ['qualify'] }])).toBe('');
});

test.each<[string, object, string]>([
  ['another operation', { ...own, AllowedOperations: ['write'] }, 'which is none of read, run, qualify'],
  ['no operation', { ...own, AllowedOperations: [] }, 'has no AllowedOperations'],
  ['no principal', { Space: 'acme', AllowedOperations: ['run'] }, 'has no Principal'],
  ['no space', { ...own, Space: undefined }, 'has no Space'],
  ['a pattern for a space', { ...own, Space: 'ac*' }, 'there are no patterns'],
  ['a space that no path can carry', { ...own, Space: 'a/b' }, 'not a single path segment'],
  ['a principal that no token has', { ...own, Principal: 'ada' }, 'no e-mail address'],
])('refuses %s', (_, policy, reason) => {
  expect(faultOf([policy])).toContain(reason);
  expect(faultOf([policy])).toContain(`${KEY}:0`);
});

test('a principal has one space, here and for records', () => {
  const other = { ...own, Space: 'other' };
  expect(faultOf([own, { ...other, Principal: 'ADA@shop.example' }])).toContain('a principal has one');
  const RecordAccess = (Space: string) => ({
    RecordAccess: {
      AllowedAudiences: ['svc'],
      IdentityPolicies: [{ Principal: 'Ada@shop.example', Space, AllowedOperations: ['read'] }],
    },
  });
  expect(faultOf([own], RecordAccess('acme'))).toBe('');
  expect(faultOf([own], RecordAccess('other'))).toContain('names another Space than Server:RecordAccess');
});
