import { describe, expect, test } from 'vitest';
import { entryFormats } from '../collections/search/formats.ts';
import { checkConfiguration } from './check.ts';
import { lexicalCandidatesMax, readsPerCallMax } from './settings/records.ts';

function findings(given: Record<string, string>, severity: 'fault' | 'warning' = 'fault'): string[] {
  const argv = Object.entries(given).map(([key, value]) => `--${key}=${value}`);
  const input = { host: 'embedded', env: {}, argv, readFile: () => undefined } as const;
  return checkConfiguration(input)
    .findings.filter((found) => found.severity === severity)
    .map(({ key, message }) => `${key} ${message}`);
}

const policies = 'Server:RecordAccess:IdentityPolicies';

function policy(index: number, members: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [`${policies}:${index}:${name}`, value]),
  );
}

const ada = { Principal: 'ada@a.example', Space: 'acme', 'AllowedOperations:0': 'read' };
const audience = { 'Server:RecordAccess:AllowedAudiences:0': 'svc' };

describe('faults', () => {
  test('a whole policy has none', () => {
    const both = {
      ...policy(0, ada),
      ...policy(1, { ...ada, Principal: 'ADA@a.example', 'AllowedOperations:0': 'maintain' }),
    };
    expect(findings({ ...audience, ...both })).toEqual([]);
  });

  test.each<[string, Record<string, string>, string]>([
    ['without a principal', { ...ada, Principal: '' }, 'has no Principal'],
    ['without a space', { Principal: ada.Principal, 'AllowedOperations:0': 'read' }, 'has no Space'],
    ['without an operation', { Principal: ada.Principal, Space: 'acme' }, 'has no AllowedOperations'],
    [
      'with an unknown operation',
      { ...ada, 'AllowedOperations:0': 'admin' },
      'allows admin, which is none of read, write, delete, maintain',
    ],
    ['with a path as space', { ...ada, Space: 'a/b' }, 'names a Space that is not a single path segment'],
    ['with every space', { ...ada, Space: '*' }, 'names a Space with a * in it: there are no patterns'],
    ['with a pattern', { ...ada, Space: 'acme-*' }, 'names a Space with a * in it: there are no patterns'],
    [
      'with a principal that no token names',
      { ...ada, Principal: 'serviceAccount:ada@a.example' },
      'has a Principal that is no e-mail address, as tokens name it: name@domain, with nothing before it',
    ],
  ])('a policy %s stops the start', (_, members, message) => {
    const { Principal, ...rest } = members;
    const given = { ...rest, ...(Principal === '' ? {} : { Principal: Principal ?? '' }) };
    expect(findings({ ...audience, ...policy(0, given) })).toEqual([`${policies}:0 ${message}`]);
  });

  test('a principal has one space, however its name is spelled', () => {
    const second = policy(1, { ...ada, Principal: 'Ada@A.example', Space: 'globex' });
    expect(findings({ ...audience, ...policy(0, ada), ...second })).toEqual([
      `${policies}:1 names a second Space of its Principal: a principal has one`,
    ]);
    const subjects = {
      'Server:Oidc:PrincipalClaim': 'sub',
      ...policy(0, { ...ada, Principal: 'ada' }),
      ...policy(1, { ...ada, Principal: 'Ada', Space: 'globex' }),
    };
    expect(findings({ ...audience, ...subjects })).toEqual([]);
  });

  test('a policy names a known product, and tokens have an audience', () => {
    const product = { 'ExecutionRuntime:ProductPolicies:0:ProductId': 'shop' };
    expect(findings({ ...audience, ...product, ...policy(0, { ...ada, ProductId: 'other' }) })).toEqual([
      `${policies}:0 names a product that has no policy in ExecutionRuntime:ProductPolicies`,
    ]);
    expect(findings(policy(0, ada))).toEqual([
      'Server:RecordAccess:AllowedAudiences is empty: the mode google-oidc needs the audience that tokens are made for',
    ]);
  });

  test('the development header proves nothing outside Development', () => {
    const header = { 'Server:RecordAccess:AuthenticationMode': 'development-header', Environment: 'Staging' };
    expect(findings({ ...header, ...policy(0, ada), 'CanonicalStore:Enabled': 'false' })).toEqual([
      'Server:RecordAccess:AuthenticationMode development-header trusts the caller without proof, and is refused outside Development',
    ]);
  });

  test('records that the settings enable do not start without policies, nor without the runtime', () => {
    const production = { Environment: 'Production', 'CanonicalStore:Enabled': 'false' };
    const wanted = { 'Records:Enabled': 'true' };
    expect(findings(production)).toEqual([]);
    expect(findings({ ...production, ...wanted })).toEqual([
      `${policies} is empty: in the environment Production the service serves no records without a policy; remove Records:Enabled to run without records`,
    ]);
    expect(findings({ ...production, ...wanted, ...audience, ...policy(0, ada) })).toEqual([]);
    expect(findings({ ...wanted, 'ExecutionRuntime:Enabled': 'false' })).toEqual([
      'Records:Enabled is true, but ExecutionRuntime:Enabled is false: the execution runtime executes the jobs of records',
    ]);
  });
});

test('advice names policies without effect, and jobs without a product', () => {
  const own = { ...audience, ...policy(0, { ...ada, 'AllowedOperations:0': 'write' }) };
  const about = (given: Record<string, string>) =>
    findings(given, 'warning').filter((line) => line.startsWith(policies));
  expect(about(own)).toEqual([]);
  expect(about({ ...own, 'Records:Enabled': 'false' })).toEqual([
    `${policies} has no effect while Records:Enabled is false`,
  ]);
  expect(about({ ...own, 'ExecutionRuntime:Enabled': 'false' })).toEqual([
    `${policies} has no effect while ExecutionRuntime:Enabled is false`,
  ]);
  const product = { 'ExecutionRuntime:ProductPolicies:0:ProductId': 'shop' };
  expect(about({ ...own, ...product })).toEqual([
    `${policies}:0 names no ProductId: each job of the principal must name productId and tenantId in its query`,
  ]);
  expect(about({ ...own, ...product, [`${policies}:0:ProductId`]: 'shop' })).toEqual([]);
});

test('advice names memory for vectors that the provider does not use', () => {
  const about = (provider: string, bytes: string) =>
    findings({ 'CanonicalStore:Provider': provider, 'Records:VectorMemoryBytes': bytes }, 'warning').filter(
      (line) => line.startsWith('Records:'),
    );
  expect(about('firestore', '1048576')).toEqual([
    'Records:VectorMemoryBytes has no effect with the provider firestore, which searches vectors itself',
  ]);
  expect(about('firestore', '536870912')).toEqual([]);
  expect(about('sqlite', '1048576')).toEqual([]);
});

test('a version of search entries that the release does not know stops the start', () => {
  const versions = entryFormats.map(({ version }) => version);
  const about = (version: number) => findings({ 'Records:EntryVersion': String(version) });
  for (const version of versions) expect(about(version)).toEqual([]);
  const [least, most] = [Math.min(...versions), Math.max(...versions)];
  const bounds = least === most ? String(least) : `a whole number from ${least} to ${most}`;
  for (const version of [least - 1, most + 1])
    expect(about(version)).toEqual([`Records:EntryVersion must be ${bounds}, not "${version}"`]);
});

test('each read of Firestore is billed, so a query or a search reads fewer records there', () => {
  expect(readsPerCallMax(null, 'firestore')).toBe(5_000);
  expect(readsPerCallMax(null, 'sqlite')).toBe(200_000);
  expect(readsPerCallMax(7, 'firestore')).toBe(7);
  expect(lexicalCandidatesMax(null, 'firestore')).toBe(500);
  expect(lexicalCandidatesMax(null, 'mysql')).toBe(5_000);
  expect(lexicalCandidatesMax(9_000, 'firestore')).toBe(9_000);
});
