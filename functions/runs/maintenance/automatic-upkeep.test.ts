import { expect, test } from 'vitest';
import { ManualWorld } from '../../../test/support/manual-world.ts';
import { AutomaticUpkeep, type Upkeep } from './automatic-upkeep.ts';

/** The moments, in seconds, at which upkeep works while `seconds` pass. */
async function moments(seconds: number, counts: readonly number[]): Promise<readonly number[]> {
  const world = new ManualWorld();
  const begin = world.now;
  const worked: number[] = [];
  const upkeep: Upkeep = () => {
    worked.push((world.now - begin) / 1_000);
    return Promise.resolve({ records: counts[worked.length - 1] ?? 0 });
  };
  const automatic = new AutomaticUpkeep({ world, log: () => undefined }, [upkeep]);
  automatic.start();
  for (let second = 0; second < seconds; second += 1) {
    await world.timerSet();
    world.advance(1_000);
  }
  await automatic.stop();
  expect(world.pendingTimers).toBe(0);
  return worked;
}

test('upkeep works once a minute, and continues a second after it made changes', async () => {
  expect(await moments(130, [])).toEqual([60, 120]);
  expect(await moments(130, [5, 5, 0])).toEqual([60, 61, 62, 122]);
});

test('an upkeep that fails is logged, and is tried again with the next one', async () => {
  const world = new ManualWorld();
  const logged: string[] = [];
  const failing: Upkeep = () => Promise.reject(new Error('broken'));
  const log = ({ message }: { readonly message: string }) => void logged.push(message);
  const automatic = new AutomaticUpkeep({ world, log }, [failing]);
  automatic.start();
  for (let minute = 0; minute < 2; minute += 1) {
    await world.timerSet();
    world.advance(60_000);
  }
  await automatic.stop();
  expect(logged).toEqual(['Upkeep of a group failed', 'Upkeep of a group failed']);
});

test('a server without upkeep has no timer', () => {
  const world = new ManualWorld();
  new AutomaticUpkeep({ world, log: () => undefined }, []).start();
  expect(world.pendingTimers).toBe(0);
});
