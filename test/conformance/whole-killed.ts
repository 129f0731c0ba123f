import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { outcomeOf, type StepOutcome } from './whole-outcomes.ts';
import { allCollections, keyOf, ScenarioProcess } from './whole-stage.ts';
import { type Answers, type ScenarioStep, STEPS } from './whole-steps.ts';

/** The data of a service before a step, and the changes of the step. */
export interface StepCase {
  readonly step: ScenarioStep;
  readonly index: number;
  readonly folder: string;
  readonly answers: Answers;
  readonly commits: number;
  readonly outcome: StepOutcome;
}

/** Reads and claims of a dead process may still be under way. */
const TURNS = 60;

async function openProcess(folder: string, step: number, answers: Answers, isHurried = false) {
  const path = join(folder, 'whole.sqlite');
  const store = await openSqliteStore({
    path,
    ...machine,
    grouping: true,
    collections: await allCollections(),
  });
  return {
    store,
    process: new ScenarioProcess({ folder, store, step, answers: new Map(answers), isHurried }),
  };
}

/** Takes the whole scenario, and keeps the data before each step that writes. */
export async function prepareCases(root: string): Promise<readonly StepCase[]> {
  const cases: StepCase[] = [];
  const folder = join(root, 'live');
  let answers: Answers = new Map();
  for (const [index, step] of STEPS.entries()) {
    const before = join(root, `before-${index}`);
    if (step.method !== 'GET') await copy(folder, before);
    const { process } = await openProcess(folder, index, answers);
    await process.start();
    const commits = process.commits;
    const given = await process.take(step, index);
    const made = process.commits - commits;
    if (made > 0) {
      const outcome = await outcomeOf(process, step, given);
      cases.push({ step, index, folder: before, answers, commits: made, outcome });
    }
    answers = process.answers;
    await process.close();
  }
  return cases;
}

/**
 * Runs the step with a process that dies right after the given number of commits, then again with one that survives.
 */
export async function killedAfter(
  commits: number,
  { step, index, folder: before, answers }: StepCase,
  repeatedKey?: string,
): Promise<StepOutcome> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-whole-killed-'));
  await copy(before, folder);
  const first = await openProcess(folder, index, answers);
  await first.process.start();
  first.process.dieAfter(commits);
  const request = { isOver: false };
  const over = () => {
    request.isOver = true;
  };
  void first.process.take(step, index).then(over, over);
  while (!request.isOver && !first.process.isDead) await turn();
  for (let turns = 0; turns < TURNS; turns += 1) await turn();
  await first.store.close();
  const second = await openProcess(folder, index, answers, true);
  second.process.outliveLeases();
  await second.process.start();
  const given = await second.process.again(step, repeatedKey ?? keyOf(index));
  const outcome = await outcomeOf(second.process, step, given);
  await second.process.close();
  await rm(folder, { recursive: true });
  return outcome;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function copy(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true, force: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}
