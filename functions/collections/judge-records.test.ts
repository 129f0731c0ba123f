import { expect, test } from 'vitest';
import type { Turns } from '../kernel/turns.ts';
import { isMet } from './judge-records.ts';
import { ReadBudget, SEARCHED_CHARACTERS_MAX } from './read-budget.ts';
import { ReadLanes } from './read-lanes.ts';
import { readFilter } from './rules/filter.ts';

const conditionOf = (values: readonly string[]) => {
  const children = values.map((value) => ({ path: '/t', op: 'contains', value }));
  return { partitionKeys: null, filter: readFilter({ combine: 'any', children }, []) };
};
const recordOf = (t: string | number) => ({ id: 'i', partitionKey: 'p', type: '', t });

/** Work that is always due, and counts the turns of others. */
class CountedTurns implements Turns {
  taken = 0;
  readonly due = () => true;
  readonly next = () => {
    this.taken += 1;
    return Promise.resolve();
  };
}

function withBudget(judge: (budget: ReadBudget) => Promise<void>): Promise<void> {
  return new ReadLanes().run('space', (lane) => judge(new ReadBudget(10, '', lane)));
}

test('each contains of a filter counts the text that it searches, up to the bound of the call', () =>
  withBudget(async (budget) => {
    const condition = conditionOf(['x', 'y', 'z']);
    const turns = { due: () => false, next: () => Promise.resolve() };
    budget.search(SEARCHED_CHARACTERS_MAX - 15);
    // Two of the three conditions are asked: ten characters.
    expect(await isMet({ budget, turns }, recordOf('a y b'), condition)).toBe(true);
    expect(await isMet({ budget, turns }, recordOf(7), condition)).toBe(false);
    budget.search(5);
    await expect(isMet({ budget, turns }, recordOf('a y b'), condition)).rejects.toMatchObject({
      code: 'query_budget_exceeded',
      message: expect.stringContaining('characters of text by contains'),
    });
  }));

test('others get their turn between two searches of one long text', () =>
  withBudget(async (budget) => {
    const turns = new CountedTurns();
    const absent = Array.from({ length: 90 }, (_, n) => `absent ${n}`);
    expect(await isMet({ budget, turns }, recordOf('a'.repeat(900_000)), conditionOf(absent))).toBe(false);
    expect(turns.taken).toBe(90);
  }));
