import * as fc from 'fast-check';
import { StoreError } from '../port.ts';
import { recordId } from '../record-id.ts';
import type { Metric } from '../search.ts';
import { bruteForce, request } from './brute-force.fixture.ts';
import { NearestSearch } from './nearest-search.ts';
import { type ModelRows, SlotModel } from './slot-model.fixture.ts';

/** Rows lie in several blocks of memory, and are loaded in several pages. */
const DIMENSIONS = 512;
const RECORDS = 90;
const PER_PAGE = 16;

export type Step =
  | {
      readonly do: 'write';
      readonly slot: number;
      readonly record: number;
      readonly count: number;
      readonly value: number;
    }
  | { readonly do: 'remove'; readonly slot: number; readonly record: number; readonly count: number }
  | { readonly do: 'trim'; readonly slot: number }
  | { readonly do: 'replace'; readonly slot: number }
  | { readonly do: 'moment'; readonly slot: number }
  | {
      readonly do: 'find';
      readonly moment: number;
      readonly value: number;
      readonly failsAt: number;
      readonly isNarrowed: boolean;
    }
  | { readonly do: 'wait' };

const slot = fc.nat(1);
const seed = fc.nat(30);
const write = fc.record({
  do: fc.constant('write' as const),
  slot,
  record: fc.nat(RECORDS - 1),
  count: fc.constantFrom(1, 2, 40),
  value: seed,
});
const remove = fc.record({
  do: fc.constant('remove' as const),
  slot,
  record: fc.nat(RECORDS - 1),
  count: fc.constantFrom(1, 3, 20),
});
const trim = fc.record({ do: fc.constant('trim' as const), slot });
const replace = fc.record({ do: fc.constant('replace' as const), slot });
const moment = fc.record({ do: fc.constant('moment' as const), slot });
const find = fc.record({
  do: fc.constant('find' as const),
  moment: fc.nat(3),
  value: seed,
  failsAt: fc.oneof(
    { weight: 4, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 9 }) },
  ),
  isNarrowed: fc.oneof(
    { weight: 4, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
});
const wait = fc.constant({ do: 'wait' as const });
export const worldSteps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: write },
    { weight: 3, arbitrary: remove },
    { weight: 2, arbitrary: trim },
    { weight: 1, arbitrary: replace },
    { weight: 4, arbitrary: moment },
    { weight: 9, arbitrary: find },
    { weight: 2, arbitrary: wait },
  ),
  { minLength: 5, maxLength: 60 },
);

export interface World {
  readonly bytesMax: number;
  readonly metric: Metric;
}

/** A vector of few numbers that are not 0, the same for the same seed. */
function vectorOf(name: number): Float32Array {
  const values = new Float32Array(DIMENSIONS);
  for (let n = 0; n < 24; n += 1)
    values[(name * 31 + n * 7) % DIMENSIONS] = Math.fround(Math.sin(name * 3 + n) + 0.2);
  return values;
}

class Passed extends Error {}

/**
 * Two slots that are written while searches run at moments of their own, in an order that the scheduler chooses. Each
 * answer must be that of brute force at its moment. Throws where one is not.
 */
export async function runSteps(
  steps: readonly Step[],
  scheduler: fc.Scheduler,
  { bytesMax, metric }: World,
): Promise<void> {
  const search = new NearestSearch({
    bytesMax,
    clock: { now: () => 0 },
    turn: () => scheduler.schedule(Promise.resolve()),
    rowsUnloaded: 0,
    bytesPerTurn: 1,
    loadedPerPage: () => PER_PAGE,
  });
  const models = [filled(0), filled(1)];
  const moments: (() => ModelRows)[] = [];
  const running: Promise<void>[] = [];
  for (const step of steps) {
    const model = 'slot' in step ? models[step.slot]! : models[0]!;
    if (step.do === 'write') {
      for (let n = 0; n < step.count; n += 1) {
        model.write(recordId(`${(step.record + n) % RECORDS}`), vectorOf(step.value + n * 5));
      }
    }
    if (step.do === 'remove') {
      for (let n = 0; n < step.count; n += 1) model.write(recordId(`${(step.record + n) % RECORDS}`), null);
    }
    if (step.do === 'trim') model.trim();
    if (step.do === 'replace') models[step.slot] = filled(step.slot);
    if (step.do === 'moment') moments.unshift(model.moments());
    if (step.do === 'find') {
      const at = moments[step.moment] ?? models[step.moment % 2]!.moments();
      running.push(check(search, at(), step, metric, scheduler));
    }
    if (step.do === 'wait') await scheduler.waitFor(Promise.all(running));
    if (search.bytes > bytesMax) throw new Error(`${search.bytes} bytes of ${bytesMax} are in use`);
  }
  await scheduler.waitFor(Promise.all(running));
  if (search.bytes > bytesMax) throw new Error(`${search.bytes} bytes of ${bytesMax} are in use`);
}

function filled(shift: number): SlotModel {
  const model = new SlotModel();
  for (let n = 0; n < 60; n += 1) model.write(recordId(`${n}`), vectorOf(shift + n), `listed ${n % 9} ${n}`);
  return model;
}

async function check(
  search: NearestSearch,
  rows: ModelRows,
  { value, failsAt, isNarrowed }: Step & { readonly do: 'find' },
  metric: Metric,
  scheduler: fc.Scheduler,
): Promise<void> {
  const among = isNarrowed
    ? Array.from({ length: RECORDS }, (_, n) => recordId(`${n}`)).slice(3, 83)
    : undefined;
  let calls = 0;
  rows.narrowed = among ?? null;
  rows.before = async () => {
    await scheduler.schedule(Promise.resolve());
    calls += 1;
    if (calls === failsAt) throw new Passed();
  };
  const asked = request(vectorOf(value), { metric, ...(isNarrowed && { among: { equal: {} } }) });
  try {
    const found = await search.find(rows, asked);
    const expected = { matches: bruteForce(rows, asked, among), complete: true };
    const got = { matches: found.matches, complete: found.complete };
    if (JSON.stringify(got) !== JSON.stringify(expected)) {
      throw new Error(`found ${JSON.stringify(got)}, not ${JSON.stringify(expected)}`);
    }
  } catch (error) {
    if (!(error instanceof Passed) && !(error instanceof StoreError && error.failure === 'unavailable'))
      throw error;
  }
}
