import { describe, expect, test } from 'vitest';
import { type Group, groupClasses } from '../../contracts/generated/groups.ts';
import { readSettings } from './load.ts';
import { isServed, isServedBy } from './rules.ts';

function settingsOf(...argv: readonly string[]) {
  return readSettings({ host: 'embedded', env: {}, argv, readFile: () => undefined }).settings;
}

const withoutRuntime = settingsOf('--ExecutionRuntime:Enabled=false');
const withoutStore = settingsOf('--CanonicalStore:Enabled=false');

describe('a group of canonical policies', () => {
  const parcels = { name: 'parcels', policies: ['canonical'], admitsJobs: false };

  test('is served with the canonical store alone', () => {
    expect(isServedBy(settingsOf(), parcels)).toBe(true);
    expect(isServedBy(withoutStore, parcels)).toBe(false);
  });

  test('needs the runtime exactly where it admits jobs', () => {
    expect(isServedBy(withoutRuntime, parcels)).toBe(true);
    expect(isServedBy(withoutRuntime, { ...parcels, admitsJobs: true })).toBe(false);
    expect(isServedBy(settingsOf(), { ...parcels, admitsJobs: true })).toBe(true);
  });
});

describe('of the catalog', () => {
  const servedBy = (settings: ReturnType<typeof settingsOf>) =>
    (Object.keys(groupClasses) as Group[]).filter((group) => isServed(settings, group));

  test('every group is served in Development, and without the runtime those that need none', () => {
    expect(servedBy(settingsOf())).toEqual(Object.keys(groupClasses));
    expect(servedBy(withoutRuntime)).toEqual(expect.arrayContaining(['server', 'canonical']));
    for (const group of ['execution', 'collections', 'records', 'providers', 'traces'])
      expect(servedBy(withoutRuntime)).not.toContain(group);
    expect(servedBy(withoutStore)).toContain('execution');
    expect(servedBy(withoutStore)).not.toContain('canonical');
  });

  test('no group of another name is switched off', () => {
    expect(isServed(withoutRuntime, 'of-a-test')).toBe(true);
  });
});
