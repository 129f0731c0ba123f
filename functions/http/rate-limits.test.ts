import { expect, test } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { echoOperations } from '../../test/wire/fixture/echo.ts';
import { createRateLimits } from './rate-limits.ts';

const never = new AbortController().signal;
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

function limitsOf(permitLimit: number) {
  const world = new ManualWorld();
  const rateLimit = { permitLimit, windowSeconds: 60, queueLimit: 0 };
  const limits = createRateLimits({ operations: echoOperations, rateLimit, refusalDelayMs: 1000, world });
  const ended: string[] = [];
  const ask = (address: string) =>
    limits
      .acquire(
        'canonical',
        () => address,
        never,
        () => {},
      )
      .then(
        () => void ended.push(`${address} admitted`),
        () => void ended.push(`${address} refused`),
      );
  return { world, ask, ended };
}

test('the eleventh refusal of an address waits for a second, and the first of another does not', async () => {
  const { world, ask, ended } = limitsOf(1);
  for (let n = 0; n < 11; n++) await ask('a');
  expect(ended.splice(0)).toEqual(['a admitted', ...Array(10).fill('a refused')]);
  void ask('a');
  await ask('b');
  await ask('b');
  expect(ended.splice(0)).toEqual(['b admitted', 'b refused']);
  world.advance(1000);
  await nextTurn();
  expect(ended).toEqual(['a refused']);
});

test('an address that is ahead of its window starts one request in each turn of the event loop', async () => {
  const { ask, ended } = limitsOf(80);
  const asked = Array.from({ length: 13 }, () => ask('a'));
  const turns: number[] = [];
  // The first look is before the loop turns: promises settle, immediates do not run.
  for (let n = 0; n < 20; n++) await Promise.resolve();
  turns.push(ended.length);
  for (let n = 0; n < 3; n++) {
    await nextTurn();
    turns.push(ended.length);
  }
  await Promise.all(asked);
  expect(turns).toEqual([10, 11, 12, 13]);
});
