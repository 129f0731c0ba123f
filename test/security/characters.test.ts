import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { patienceMs } from '../support/effort.ts';
import { costFaults, type Trial, trialFaults, tryAll } from './characters.ts';
import { type CharactersWorld, grow, startCharacters } from './characters-world.ts';
import { allEntries } from './target.ts';

// The hook sends what all tests of the file judge.
vi.setConfig({ testTimeout: patienceMs, hookTimeout: 5 * patienceMs });

const ITEMS = 12;

let worlds: readonly CharactersWorld[] = [];
let small: readonly Trial[];
let large: readonly Trial[];

beforeAll(async () => {
  worlds = [await startCharacters(), await startCharacters()];
  const [one, other] = worlds as [CharactersWorld, CharactersWorld];
  await grow(one.service.call, one.victim, ITEMS);
  await grow(other.service.call, other.victim, 10 * ITEMS);
  const cast = { entries: allEntries };
  small = await tryAll({ ...cast, world: one, call: one.service.call, readsAlone: true });
  large = await tryAll({ ...cast, world: other, call: other.service.call });
});
afterAll(async () => {
  for (const world of worlds) await world.close();
});

describe('a stranger, a caller without rights and a busy neighbour', () => {
  const routes = allEntries.flatMap((entry) => entry.routes.map(({ operationId }) => operationId));

  test.each(routes)('D13: %s, learn nothing and change nothing of a victim', (operationId) => {
    const trials = large.filter(({ name }) => name.split(' ')[0] === operationId);
    expect(new Set(trials.map(({ character }) => character)).size).toBe(4);
    expect(trials.flatMap(trialFaults)).toEqual([]);
  });

  test('I07: cost no more store reads where the victim has ten times the data', () => {
    expect(costFaults(small, large)).toEqual([]);
    expect(Math.max(...small.map(({ reads }) => reads))).toBeGreaterThan(5);
  });
});
