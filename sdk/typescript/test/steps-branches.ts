import type { Steps } from '../src/worker/index.ts';
import { type Crash, type Raised, RunStage } from './steps-stage.ts';

/** Two branches that work and wait side by side, at moments that a seed draws, with a crash at each call. */

export const seeds = [1, 2, 3, 4, 5, 6, 7, 8];

/** The same numbers for a seed, each time. */
export function numbers(seed: number): (below: number) => number {
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

export const kinds = ['branches of the kit', 'promises'] as const;
type Kind = (typeof kinds)[number];

async function runOf(kind: Kind, seed: number, crash?: Crash) {
  const draw = numbers(seed + 100);
  const wayMs = () => draw(40);
  const stage = new RunStage({ wayMs, events: eventsOf(seed), ...(crash === undefined ? {} : { crash }) });
  const times = Array.from({ length: 6 }, () => draw(3_000));
  const firstTimes = [draw(500), draw(500)];
  const branch = (steps: Steps, name: string, at: number) => async () => {
    const from = 3 * at;
    // Both branches call this name, in their order; they may come to its end in the other one.
    const seen: unknown[] = [
      await steps.step('mail', () =>
        stage.work(async () => {
          await stage.clock.pause(firstTimes[at] ?? 0);
          return name;
        }),
      ),
    ];
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
      const works = [branch(steps, 'a', 0), branch(steps, 'b', 1)];
      return kind === 'promises' ? Promise.all(works.map((work) => work())) : steps.all(works);
    },
  });
  const text = JSON.stringify(ended.result ?? ended.error?.message);
  return { text, faults: stage.faults, calls: stage.calls.length };
}

const whole = '[["a","a1","a2"],["b","b1","b2"]]';

/** The first event that is lost or taken twice, or result that changes its branch; `null` without one. */
export async function branchFault(kind: Kind, seed: number): Promise<string | null> {
  const faultOf = async (place: string, crash?: Crash) => {
    const { text, faults, calls } = await runOf(kind, seed, crash);
    const fault = text === whole ? faults[0] : text;
    return { calls, fault: fault === undefined ? null : `${place}: ${fault}` };
  };
  const { fault: first, calls } = await faultOf('without a crash');
  if (first !== null) return first;
  for (const when of ['before', 'after'] as const)
    for (let call = 1; call <= calls; call += 1) {
      const { fault } = await faultOf(`${when} call ${call}`, { call, when });
      if (fault !== null) return fault;
    }
  return null;
}
