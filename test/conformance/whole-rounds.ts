import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { withoutLedger } from './forgetful-store.ts';
import type { TestedStore } from './stores/tested-store.ts';
import { type LivedStep, type OpenStore, ScenarioLives } from './whole-lives.ts';
import { isWriting } from './whole-outcomes.ts';
import { allCollections, keyOf } from './whole-stage.ts';
import { type ScenarioStep, STEPS } from './whole-steps.ts';

/** The commit of a process that finds the run of a dead one. */
const REQUEUED = 'system: runs queued';
/** Ends a test that hangs; some 140 processes follow one another. */
const DEATHS_MS = 600_000;
const BATCH = STEPS.findIndex(({ name }) => name === 'batch');

const plants: readonly { readonly name: string; readonly plant: (round: Round) => Round }[] = [
  {
    name: 'the caller takes another key',
    plant: (round) => ({
      ...round,
      keyOf: (index, time) => (index === BATCH ? `key ${time}` : keyOf(index)),
    }),
  },
  {
    name: 'the processes keep no ledger beside the records',
    plant: ({ open, ...round }) => ({
      ...round,
      open: async (collections) => withoutLedger(await open(collections)),
    }),
  },
];

/**
 * A service whose processes die after each commit, over one database: the next process continues with the records of
 * the dead one. The service must give the same answers, and leave the same data, as a service in memory whose process
 * never dies. Commits that write to the same collections share a name, and a process dies once after each of them.
 */
export function describeDeaths(tested: TestedStore): void {
  describe(`processes that die after each commit: ${tested.title}`, () => {
    const create = async () => tested.create(await allCollections());
    let undisturbed: readonly LivedStep[] = [];

    beforeAll(async () => {
      const store = new MemoryStore(new MemoryDatabase());
      undisturbed = await roundOf(STEPS, { open: () => Promise.resolve(store), deaths: [] });
    });

    const allDeaths = () => undisturbed.map(({ commits }, index) => deathsOf(STEPS[index], commits));

    test(
      'the whole scenario has the answers of one that lives, and leaves the same',
      async () => {
        let left = allDeaths();
        for (let deaths = countOf(left); deaths > 0; deaths = countOf(left)) {
          const taken = await roundOf(STEPS, { open: await create(), deaths: left });
          for (const [index, { outcome }] of taken.entries())
            expect(outcome, STEPS[index]?.name).toEqual(undisturbed[index]?.outcome);
          left = left.map((names, index) => without(names, taken[index]?.deaths ?? []));
          // A process that dies after the records of a job cannot write their checkpoint: the next round tests a death
          // after the checkpoint.
          expect(countOf(left), `none died after ${left.flat().join(', ')}`).toBeLessThan(deaths);
        }
      },
      DEATHS_MS,
    );

    test.each(plants)('the oracle sees records that are written twice: $name', async ({ plant }) => {
      const steps = STEPS.slice(0, BATCH + 1);
      const taken = await roundOf(steps, plant({ open: await create(), deaths: allDeaths() }));
      expect(taken[BATCH]?.outcome.left).not.toEqual(undisturbed[BATCH]?.outcome.left);
    });
  });
}

interface Round {
  readonly open: OpenStore;
  /** The commits of each step after which a process dies. */
  readonly deaths: readonly (readonly string[])[];
  readonly keyOf?: (index: number, time: number) => string;
}

async function roundOf(steps: readonly ScenarioStep[], { deaths, ...options }: Round): Promise<LivedStep[]> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-whole-deaths-'));
  const lives = new ScenarioLives({ folder, ...options });
  const taken: LivedStep[] = [];
  for (const [index, step] of steps.entries()) taken.push(await lives.take(step, index, deaths[index] ?? []));
  await lives.close();
  await rm(folder, { recursive: true });
  return taken;
}

function deathsOf(step: ScenarioStep | undefined, commits: readonly string[]): readonly string[] {
  if (step === undefined || !isWriting(step)) return [];
  return step.job === undefined ? commits : [...commits, REQUEUED];
}

const countOf = (names: readonly (readonly string[])[]): number => names.flat().length;

function without(names: readonly string[], taken: readonly string[]): readonly string[] {
  const left = [...names];
  for (const name of taken) left.splice(left.indexOf(name), 1);
  return left;
}
