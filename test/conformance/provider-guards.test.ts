import { expect, test } from 'vitest';
import { describeProviderGuards, madeAtOnce } from './provider-guards.ts';
import { stores } from './stores/lane.ts';
import { openStore } from './stores/tested-store.ts';

const rivals = { memory: 20, sqlite: 20, postgresql: 10, mysql: 10, firestore: 5 };

for (const tested of stores) describeProviderGuards(tested, { rivals: rivals[tested.name] });

test.for(stores.filter(({ name }) => name === 'memory'))(
  'instances that keep their counts to themselves are found',
  async (memory) => {
    const apart = [await openStore(memory, []), await openStore(memory, [])];
    expect(await madeAtOnce(apart, 20)).toBe(6);
  },
);
