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
  while (looks < 2) {
    await new Promise(setImmediate);
    world.advance(1_000);
  }
  drains = true;
  while (looks < 4) {
    await new Promise(setImmediate);
    world.advance(2_000);
    if (isDraining(await Promise.race([entered, Promise.resolve(null)]))) break;
  }
  expect(isDraining(await entered)).toBe(true);
});
