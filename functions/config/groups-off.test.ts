import { expect, test } from 'vitest';
import { groupsOff, offLine } from './groups-off.ts';
import { readSettings } from './load.ts';

function linesOf(...argv: readonly string[]): string[] {
  const { settings } = readSettings({ host: 'embedded', env: {}, argv, readFile: () => undefined });
  return groupsOff(settings).map(offLine);
}

test('Development serves everything', () => {
  expect(linesOf()).toEqual([]);
});

test('a group that is off says why, and how to have it', () => {
  expect(linesOf('--environment=Production')).toEqual([
    'execution: off, no policies in Server:ExecutionAccess:IdentityPolicies (svc init writes them)',
    'docs: off, Docs:Enabled is false (true serves it)',
  ]);
  expect(linesOf('--ExecutionRuntime:Enabled=false', '--CanonicalStore:Enabled=false')).toEqual([
    'canonical: off, CanonicalStore:Enabled is false (true serves it)',
    'execution: off, ExecutionRuntime:Enabled is false (true serves it)',
  ]);
});

test('policies serve the execution runtime', () => {
  const policy = '--Server:ExecutionAccess:IdentityPolicies:0:Principal=a@b.c';
  expect(linesOf('--environment=Production', '--Docs:Enabled=true', policy)).toEqual([]);
});
