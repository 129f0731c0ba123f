import { expect, test } from 'vitest';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { loadConfiguration } from '../config/load.ts';
import { machine } from './machine.ts';
import { providerGuardOf } from './provider-guards.ts';

const policy = (space: string) => ({
  Principal: `${space}@project.iam.gserviceaccount.com`,
  Space: space,
  AllowedOperations: ['read'],
});

/** How many of ten calls of each space are made. */
async function made(spaces: readonly string[], more: object = {}): Promise<readonly number[]> {
  const file = {
    Server: { RecordAccess: { AllowedAudiences: ['svc'], IdentityPolicies: spaces.map(policy) } },
    Providers: [
      {
        Id: 'mine',
        Kind: 'vertex',
        ProjectId: 'project',
        LocationId: 'global',
        Model: 'm',
        Dimensions: 2,
        CallsPerMinute: 5,
        ...more,
      },
    ],
  };
  const readFile = (path: string) => (path === 'svcsettings.json' ? JSON.stringify(file) : undefined);
  const { settings } = loadConfiguration({ host: 'embedded', env: {}, argv: [], readFile });
  const entry = settings?.providers.list[0];
  if (settings === undefined || entry === undefined) throw new Error('the settings are refused');
  const store = new MemoryStore(new MemoryDatabase(), {});
  const opened = { get: () => Promise.resolve(store), close: () => Promise.resolve() };
  const world = { ...machine, http: fetch, clock: { now: () => Date.UTC(2026, 0, 1) } };
  const guard = providerGuardOf({ settings, store: opened, world }, entry);
  const counts: number[] = [];
  for (const space of spaces.length === 0 ? ['default'] : spaces) {
    let count = 0;
    for (let each = 0; each < 10; each += 1)
      await guard
        .within({ space, tokens: 1 }, (admit) => admit())
        .then(
          () => (count += 1),
          () => undefined,
        );
    counts.push(count);
  }
  return counts;
}

test('each of several spaces has half of the limits of a provider, or what the settings say', async () => {
  expect(await made(['a', 'b'])).toEqual([3, 2]);
  expect(await made(['a', 'b'], { SpaceSharePercent: 20 })).toEqual([1, 1]);
  expect(await made(['a', 'b'], { SpaceSharePercent: 100 })).toEqual([5, 0]);
});

test('a space that shares with no other has all of them', async () => {
  expect(await made(['a'])).toEqual([5]);
  expect(await made([], { SpaceSharePercent: 20 })).toEqual([5]);
});
