import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { patienceMs, share } from '../support/effort.ts';
import { hurried, type RunningService, startService } from '../support/service.ts';
import { type Target } from './attacked.ts';
import { fuzzInvalid, fuzzValid } from './fuzz.ts';
import { contractModels } from './schema-set.ts';
import { allEntries, routesOf } from './target.ts';

vi.setConfig({ testTimeout: patienceMs });

/** Random requests for each route, and beside each rule broken once such that break one. A nightly run draws five times as many. */
const DRAWS = share(30, 100);
/** The number of further requests where none of those succeeded. */
const MORE_DRAWS = 100;
const BROKEN_DRAWS = share(15, 50);

/** Operations that no request can make succeed on a tenant which only the contract's examples have touched. */
const needMore: Readonly<Record<string, string>> = {
  readCanonicalFence: 'needs a fence, which the example of a commit does not claim',
  replayCanonicalOutbox: 'needs an event that is dead-lettered, which takes a last delivery to fail',
};

let service: RunningService;
let target: Target;

beforeAll(async () => {
  service = await startService({ world: hurried });
  target = { set: contractModels(), entries: allEntries, call: service.call };
});
afterAll(() => service.close());

describe.each(routesOf(allEntries))('$name', ({ entry, route }) => {
  test('requests that break no rule are answered as the contract says, and some of them succeed', async () => {
    const few = await fuzzValid(target, entry, route, DRAWS);
    const accepted = few > 0 ? few : await fuzzValid(target, entry, route, MORE_DRAWS);
    expect(service.lines).toEqual([]);
    // An entry of the list that is not needed any more has to go.
    if (Object.hasOwn(needMore, entry.id)) expect(accepted, needMore[entry.id]).toBe(0);
    else expect(accepted).toBeGreaterThan(0);
  });

  test('G12: requests that break one rule are refused as the contract says', async () => {
    const broken = await fuzzInvalid(target, entry, route, BROKEN_DRAWS);
    expect(service.lines).toEqual([]);
    expect(broken.size).toBeGreaterThan(0);
    if (entry.requestSchema === null || route.bodyFromParameters) return;
    // Arrays where objects are expected and the reverse are among them.
    expect(broken).toContain('body: type ');
  });
});

test('the list of operations that cannot succeed holds nothing else', () => {
  const ids = new Set(allEntries.map(({ id }) => id));
  expect(Object.keys(needMore).filter((id) => !ids.has(id))).toEqual([]);
});
