import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { killedAfter, prepareCases, type StepCase } from './whole-killed.ts';
import { isWriting } from './whole-outcomes.ts';
import { STEPS } from './whole-steps.ts';

let root = '';
let cases: readonly StepCase[] = [];

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'svc-whole-'));
  await mkdir(join(root, 'live'), { mode: 0o700 });
  cases = await prepareCases(root);
});

afterAll(() => rm(root, { recursive: true }));

describe('a process that dies right after a commit, and a caller that sends the step again', () => {
  test.each(STEPS.filter(isWriting))(
    '$name answers and leaves what it would have without the death, after each commit',
    async ({ name }) => {
      const each = cases.find(({ step }) => step.name === name);
      if (each === undefined) throw new Error(`${name} commits nothing`);
      for (let commits = 1; commits <= each.commits; commits += 1)
        expect(await killedAfter(commits, each), `after ${commits} commits`).toEqual(each.outcome);
    },
    120_000,
  );
});

test('the oracle sees records that are written twice: the caller takes another key', async () => {
  const batch = cases.find(({ step }) => step.name === 'batch') as StepCase;
  const outcome = await killedAfter(batch.commits - 1, batch, 'another key');
  expect(outcome.left).not.toEqual(batch.outcome.left);
});
