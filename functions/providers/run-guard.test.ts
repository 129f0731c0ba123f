import { expect, test } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { asking, isDraining } from '../kernel/paid-calls.ts';
import { enterRun, type RunGuardParts } from './run-guard.ts';

test('a run that waits for its place leaves it to another process when its own stops', async () => {
  const world = new ManualWorld();
  let looks = 0;
  let drains = false;
  const parts = {
    world,
    provider: 'p',
    ofAll: null,
    queueMs: 600_000,
    store: () =>
      Promise.resolve({
        transact: () => {
          looks += 1;
          return Promise.resolve({ reason: 'busy', detail: 'all places are taken', retryAfterMs: 1_000 });
        },
      }),
  } as unknown as RunGuardParts;
  const run = { space: 's', id: 'r', holder: 'h', leaseMs: 60_000, signal: new AbortController().signal };
  const entered = asking(
    () => drains,
    () => enterRun(parts, run),
  ).catch((error: unknown) => error);
  const pass = async (ms: number, turns: number) => {
    for (let turn = 0; turn < turns; turn += 1) {
      await new Promise(setImmediate);
      world.advance(ms);
    }
  };
  await pass(250, 2);
  expect(looks).toBe(2);
  drains = true;
  await pass(2_000, 9);
  expect(looks).toBeLessThan(5);
  expect(isDraining(await entered)).toBe(true);
});
