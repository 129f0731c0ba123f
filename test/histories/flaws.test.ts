import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import { collections } from '../../functions/groups/canonical/records.ts';
import { StoreError } from '../../functions/store/port.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { FLAWS } from '../simulation/flaws.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { Random } from '../simulation/random.ts';
import { groundWith, STORE_FLAWS, type StoreFlaw } from './flaws.ts';
import { judgeCells, judgeLeases, judgeWide, type Verdict } from './histories.ts';
import { type Instance, LocalInstance } from './instance.ts';

const SIZES = { clients: 6, operations: 300 };
/** In memory a seed says everything, so that these bounds hold for ever or not at all. */
const MEMORY_SEEDS = 5;
/** On a real database the seed decides the requests, and the machine decides their order. */
const SQLITE_SEEDS = 10;
/** Sound stores are judged with as many seeds as flawed ones. */
const SOUND_SEEDS = 10;

const judges = { cells: judgeCells, leases: judgeLeases, wide: judgeWide } as const;

/** The seed draws the number of microtask turns at every round trip, and so the next client to continue. */
function drawnPause(seed: number): () => Promise<void> {
  const random = new Random(seed);
  return async () => {
    for (let left = random.below(16); left > 0; left -= 1) await Promise.resolve();
  };
}

function memoryInstances(seed: number, Store = MemoryStore, flaw?: StoreFlaw): Instance[] {
  const database = new MemoryDatabase();
  const pause = drawnPause(seed);
  const hooks = { before: pause, after: pause };
  const ground = groundWith(pause);
  const stores = [new Store(database, hooks), new Store(database, hooks)];
  return stores.map((store) => new LocalInstance(flaw === undefined ? store : flaw.plant(store, ground)));
}

/** Turns of the event loop, in which the queues of both stores run. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** The first of `seeds` seeds with which something is found. */
async function firstFind(
  seeds: number,
  judge: (seed: number) => Promise<Verdict>,
): Promise<{ readonly seed: number; readonly fault: string } | undefined> {
  for (let seed = 1; seed <= seeds; seed++) {
    const { fault } = await judge(seed).catch(corrupt);
    if (fault !== null) return { seed, fault };
  }
  return undefined;
}

/** The service itself detects a store that shows half of a commit. */
function corrupt(error: unknown): Pick<Verdict, 'fault'> {
  if (error instanceof StoreError && error.message === 'a receipt lacks what was filed with it')
    return { fault: error.message };
  throw error;
}

describe('a sound store in memory', () => {
  test.each(['cells', 'leases', 'wide'] as const)('gives one history each for %s', async (kind) => {
    const find = await firstFind(SOUND_SEEDS, (seed) =>
      judges[kind](memoryInstances(seed), { ...SIZES, seed }),
    );
    expect(find).toBeUndefined();
  });

  test('gives the same history for the same seed', async () => {
    const texts = new Set<string>();
    for (const _ of [1, 2]) texts.add((await judgeCells(memoryInstances(7), { ...SIZES, seed: 7 })).answered);
    expect(texts.size).toBe(1);
  });
});

describe('a planted bug is found', () => {
  test.each(Object.entries(STORE_FLAWS))('in memory: %s', async (_, flaw) => {
    const find = await firstFind(MEMORY_SEEDS, (seed) =>
      judges[flaw.shows](memoryInstances(seed, MemoryStore, flaw), { ...SIZES, seed }),
    );
    expect(find, flaw.about).toBeDefined();
  });

  test.each([
    ['unguarded-reads', 'cells'],
    ['torn-writes', 'cells'],
    ['stale-reads', 'cells'],
    ['lost-writes', 'cells'],
    ['double-claim', 'leases'],
    ['lease-over-lease', 'leases'],
  ] as const)('in the store of the simulation: %s', async (name, kind) => {
    const { store, about } = FLAWS[name] ?? {};
    expect(store).toBeDefined();
    const find = await firstFind(MEMORY_SEEDS, (seed) =>
      judges[kind](memoryInstances(seed, store), { ...SIZES, seed }),
    );
    expect(find, about).toBeDefined();
  });

  test.each(Object.entries(STORE_FLAWS))('on SQLite: %s', async (_, flaw) => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-flaws-'));
    const ground = groundWith(() => turns(3));
    const random = new Random(1);
    const open = async () => {
      const store = await openSqliteStore({
        path: join(folder, 'canonical.sqlite'),
        ...machine,
        collections,
      });
      return new LocalInstance(flaw.plant(store, ground), () => turns(random.below(6)));
    };
    const instances = [await open(), await open()];
    const find = firstFind(SQLITE_SEEDS, (seed) => judges[flaw.shows](instances, { ...SIZES, seed }));
    if (flaw.refusedBySqlite === true) await expect(find).rejects.toThrow('UNIQUE constraint failed');
    else expect(await find, flaw.about).toBeDefined();
    for (const instance of instances) await instance.close();
    await rm(folder, { recursive: true });
  });
});
