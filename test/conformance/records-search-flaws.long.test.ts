import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import type { RecordStore } from '../../functions/store/port.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { type Flaw, flaws } from './records-search-flaws.ts';
import { WholeGroups } from './records-search-stage.ts';

const stores: Readonly<Record<Flaw['store'], () => RecordStore>> = {
  memory: () => new MemoryStore(new MemoryDatabase()),
  'memory that narrows nothing': () => new WholeGroups(new MemoryDatabase()),
};

/** A search for a planted fault ends when it finds one, so it may be long. */
const PLANTED_RUNS = 1_000;

/** Whether random cases find a fault, with the modules as they are mocked now. */
async function isFound({ kind, store: name }: Pick<Flaw, 'kind' | 'store'>, numRuns = 150): Promise<boolean> {
  vi.resetModules();
  const cases = await import('./records-search-cases.ts');
  const store = stores[name];
  const options = { numRuns, seed: 1, endOnFailure: true };
  const outcome =
    kind === 'words'
      ? await fc.check(cases.lexicalAgreement(store, 8), options)
      : await fc.check(cases.vectorAgreement(store, 8), options);
  return outcome.failed;
}

test.each([
  { kind: 'words', store: 'memory' },
  { kind: 'vectors', store: 'memory' },
  { kind: 'vectors', store: 'memory that narrows nothing' },
] as const)('searches for $kind in $store are without a fault', async (check) => {
  expect(await isFound(check)).toBe(false);
});

test.each(flaws)('a search that $name is found: $kind in $store', async (flaw) => {
  const path = `../../functions/collections/${flaw.module}`;
  vi.doMock(path, async (original) => {
    const module = await original<Record<string, unknown>>();
    return { ...module, ...flaw.plant(module as never) };
  });
  try {
    expect(await isFound(flaw, PLANTED_RUNS)).toBe(true);
  } finally {
    vi.doUnmock(path);
  }
});
