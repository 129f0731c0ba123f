import { expect, test } from 'vitest';
import { groupsOff, offLine } from './groups-off.ts';
import { readSettings } from './load.ts';

function linesOf(...argv: readonly string[]): string[] {
  const { settings } = readSettings({ host: 'embedded', env: {}, argv, readFile: () => undefined });
  return groupsOff(settings).map(offLine);
}

const noProviders =
  'providers: off, no policies in Server:ProviderAccess:IdentityPolicies (svc init writes them)';

test('Development serves everything', () => {
  expect(linesOf()).toEqual([]);
});

test('a group that is off names the reason and the remedy', () => {
  expect(linesOf('--environment=Production')).toEqual([
    'execution: off, no policies in Server:ExecutionAccess:IdentityPolicies (svc init writes them)',
    'records: off, no policies in Server:RecordAccess:IdentityPolicies (svc init writes them)',
    noProviders,
    'docs: off, Docs:Enabled is false (true serves it)',
  ]);
  expect(linesOf('--ExecutionRuntime:Enabled=false', '--CanonicalStore:Enabled=false')).toEqual([
    'canonical: off, CanonicalStore:Enabled is false (true serves it)',
    'execution: off, ExecutionRuntime:Enabled is false (true serves it)',
    'records: off, ExecutionRuntime:Enabled is false (true serves it)',
    'providers: off, ExecutionRuntime:Enabled is false (true serves it)',
  ]);
  expect(linesOf('--Records:Enabled=false')).toEqual([
    'records: off, Records:Enabled is false (true serves it)',
  ]);
});

test('policies serve the execution runtime', () => {
  const policy = '--Server:ExecutionAccess:IdentityPolicies:0:Principal=a@b.c';
  const own = ['--environment=Production', '--Docs:Enabled=true', '--Records:Enabled=false', policy];
  expect(linesOf(...own)).toEqual(['records: off, Records:Enabled is false (true serves it)', noProviders]);
});

test('policies serve records, and policies of another part alone close them', () => {
  const [own, other] = ['RecordAccess', 'CanonicalAccess'].map(
    (part) => `--Server:${part}:IdentityPolicies:0:Principal=a@b.c`,
  ) as [string, string];
  const off = 'records: off, no policies in Server:RecordAccess:IdentityPolicies (svc init writes them)';
  expect(linesOf(other)).toEqual([off, noProviders]);
  expect(linesOf(other, own)).toEqual([noProviders]);
  expect(linesOf('--environment=Production', '--Docs:Enabled=true', own)).toEqual([
    'execution: off, no policies in Server:ExecutionAccess:IdentityPolicies (svc init writes them)',
    noProviders,
  ]);
});

test('policies serve providers, and those of providers alone close records', () => {
  const own = '--Server:ProviderAccess:IdentityPolicies:0:Principal=a@b.c';
  expect(linesOf(own)).toEqual([
    'records: off, no policies in Server:RecordAccess:IdentityPolicies (svc init writes them)',
  ]);
  expect(linesOf(own, '--Server:RecordAccess:IdentityPolicies:0:Principal=a@b.c')).toEqual([]);
});
