import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openStore, type TestedStore } from './stores/tested-store.ts';
import { hashOf, lastOf, type StepAnswers } from './whole-answers.ts';
import { type Executors, ScenarioInstances } from './whole-instances.ts';
import { allCollections, ScenarioProcess } from './whole-stage.ts';
import { STEPS } from './whole-steps.ts';

/** The hashes of all answers and of the last answers of the steps. */
const ANSWERS = '6324c08f594d79130b108fa97f6b6e8525120a8192c43e4563c129accdae715a';
const ENDS = '211d72d754b4b7a12840591ae08e957b10c0b17a87c68767524b360d1514e757';

/** Runs all steps over a database of its own. */
export function describeWholeScenario(tested: TestedStore): void {
  test(`the whole scenario has the same answers, byte by byte: ${tested.title}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-whole-'));
    const store = await openStore(tested, await allCollections());
    const process = new ScenarioProcess({ folder, store });
    await process.start();
    const taken: StepAnswers[] = [];
    for (const [index, step] of STEPS.entries())
      taken.push({ step, answers: await process.take(step, index) });
    await process.close();
    await rm(folder, { recursive: true });
    expect({ all: hashOf(taken), ends: hashOf(lastOf(taken)) }).toEqual({ all: ANSWERS, ends: ENDS });
  });
}

/**
 * The same steps by two instances of the service over one database, in turn: the database holds the state, not a
 * process.
 */
export function describeTwoInstances(tested: TestedStore): void {
  describe(`two instances that take the steps in turn: ${tested.title}`, () => {
    const take = async (executors: Executors) => {
      const folder = await mkdtemp(join(tmpdir(), 'svc-whole-two-'));
      const open = await tested.create(await allCollections());
      const stores = [await open(), await open()] as const;
      const instances = new ScenarioInstances({ folder, stores, executors });
      await instances.start();
      const taken: StepAnswers[] = [];
      for (const [index, step] of STEPS.entries())
        taken.push({ step, answers: await instances.take(step, index) });
      await instances.close();
      await rm(folder, { recursive: true });
      return taken;
    };

    test('the whole scenario has the answers of one', async () => {
      expect(hashOf(await take('both'))).toBe(ANSWERS);
    });

    test('its jobs end the same if only one of them executes the jobs that either admits', async () => {
      expect(hashOf(lastOf(await take('second')))).toBe(ENDS);
    });
  });
}
