import { describe, expect, test } from 'vitest';
import type { Steps } from '../src/worker/index.ts';
import { type Crash, type Raised, RunStage } from './steps-stage.ts';

/** Two branches that work and wait side by side, with a crash at each call. Events are taken once, in their order. */

const seeds = [1, 2, 3, 4, 5, 6, 7, 8];

/** The same numbers for a seed, each time. */
function numbers(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x297a2d39) >>> 0;
    return state % below;
  };
}

/** Four events at moments that the seed chooses; their payloads count them by name. */
function eventsOf(seed: number): Raised[] {
  const draw = numbers(seed);
  const moments = ['a', 'b', 'a', 'b'].map((name) => ({ name, at: draw(6_000) }));
  const counts = new Map<string, number>();
  return moments
    .toSorted((one, other) => one.at - other.at)
    .map(({ name, at }) => {
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      return { name, at, payload: `${name}${count}` };
    });
}

type Kind = 'branches of the kit' | 'promises';

async function runOf(kind: Kind, seed: number, crash?: Crash) {
  const draw = numbers(seed + 100);
  const wayMs = () => draw(40);
  const stage = new RunStage({ wayMs, events: eventsOf(seed), ...(crash === undefined ? {} : { crash }) });
  const times = Array.from({ length: 6 }, () => draw(3_000));
  const branch = (steps: Steps, name: string, from: number) => async () => {
    const seen: unknown[] = [];
    for (const round of [0, 1]) {
      // Work outside of a step: the kit does not know of it.
      await stage.clock.pause(draw(60));
      await steps.step([name, 'before', round], () =>
        stage.work(() => stage.clock.pause(times[from + round] ?? 0)),
      );
      seen.push(await steps.waitForEvent([name, 'event', round], { event: name }));
    }
    await steps.sleep([name, 'rest'], (times[from + 2] ?? 0) / 1_000);
    await steps.step([name, 'end'], () => stage.work(() => Promise.resolve()));
    return seen;
  };
  const ended = await stage.drive({
    id: 'h',
    run: (steps: Steps) => {
      const works = [branch(steps, 'a', 0), branch(steps, 'b', 3)];
      return kind === 'promises' ? Promise.all(works.map((work) => work())) : steps.all(works);
    },
  });
  expect(stage.faults).toEqual([]);
  return { ...ended, calls: stage.calls.length };
}

const all = [
  ['a1', 'a2'],
  ['b1', 'b2'],
];

describe.each(['branches of the kit', 'promises'] as const)('two branches that are %s', (kind) => {
  test.each(seeds)('take each event once (seed %i)', async (seed) => {
    const { result, error, calls } = await runOf(kind, seed);
    expect(error).toBeUndefined();
    expect(result).toEqual(all);
    for (const when of ['before', 'after'] as const)
      for (let call = 1; call <= calls; call += 1) {
        const crashed = await runOf(kind, seed, { call, when });
        expect(crashed.result, `${when} call ${call}`).toEqual(all);
      }
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
