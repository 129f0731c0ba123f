import { describe, expect, test } from 'vitest';
import type { Steps } from '../src/worker/index.ts';
import { branchFault, kinds, seeds } from './steps-branches.ts';
import { RunStage } from './steps-stage.ts';

/** Two branches that work and wait side by side, with a crash at each call. Events are taken once, in their order. */

describe.each(kinds)('two branches that are %s', (kind) => {
  test.each(seeds)('take each event once, and keep their results apart (seed %i)', async (seed) => {
    expect(await branchFault(kind, seed)).toBeNull();
  });
});

describe('two branches', () => {
  test('of which one waits for long do not hold the other one up', async () => {
    const stage = new RunStage({ events: [{ at: 86_400_000, name: 'late', payload: 1 }] });
    const ends: number[] = [];
    const { result } = await stage.drive({
      id: 'h',
      run: (steps: Steps) =>
        steps.all([
          () => steps.waitForEvent('late', { timeout: '7d' }),
          async () => {
            await steps.sleep('short', '1m');
            return steps.step('then', () => {
              ends.push(stage.clock.now());
              return 2;
            });
          },
        ]),
    });
    expect(result).toEqual([1, 2]);
    expect(ends).toEqual([1_767_225_600_000 + 60_000]);
  });

  test('of which one has a deadline end it at its moment', async () => {
    const stage = new RunStage({ events: [{ at: 3_600_000, name: 'late', payload: 1 }] });
    const { result } = await stage.drive({
      id: 'h',
      run: (steps: Steps) =>
        steps.all([() => steps.waitForEvent('late'), () => steps.waitForEvent('never', { timeout: '1m' })]),
    });
    expect(result).toEqual([1, null]);
  });
});
