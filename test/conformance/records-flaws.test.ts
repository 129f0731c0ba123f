import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { KeysSelection, ListSelection, Moment, RecordPage, Scope } from '../../functions/store/port.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { agreement } from './records-query.ts';

type List = (selection: ListSelection) => Promise<RecordPage>;

/** A store whose lists have a fault. */
class FaultyStore extends MemoryStore {
  readonly #fault: (selection: ListSelection, list: List) => Promise<RecordPage>;

  constructor(fault: (selection: ListSelection, list: List) => Promise<RecordPage>) {
    super(new MemoryDatabase());
    this.#fault = fault;
  }

  override snapshot<R>(scope: Scope, read: (moment: Moment) => Promise<R>): Promise<R> {
    return super.snapshot(scope, (moment) => read(this.#faulty(moment)));
  }

  #faulty(moment: Moment): Moment {
    const list: List = (selection) => moment.query(selection);
    const query = (selection: ListSelection | KeysSelection) =>
      selection.by === 'list' ? this.#fault(selection, list) : moment.query(selection);
    // No query reads parts.
    return {
      query: query as Moment['query'],
      find: moment.find,
      count: moment.count,
      generation: () => moment.generation(),
    };
  }
}

function without(name: 'afterId' | 'group', selection: ListSelection): ListSelection {
  const rest: { -readonly [Name in keyof ListSelection]: ListSelection[Name] } = { ...selection };
  delete rest[name];
  return rest;
}

const faults: Readonly<Record<string, (selection: ListSelection, list: List) => Promise<RecordPage>>> = {
  'ignores `afterId` and begins with the first record': (selection, list) =>
    list(without('afterId', selection)),
  'loses the last record of each page': async (selection, list) => {
    const page = await list(selection);
    return { ...page, records: page.records.slice(0, -1) };
  },
  'leaves the lower bound out of a range': async (selection, list) => {
    const page = await list(selection);
    const { index = '', from = '' } = selection.range ?? {};
    const records = page.records.filter(({ listing }) => listing?.indexes[index] !== from);
    return selection.range === undefined ? page : { ...page, records };
  },
  'answers an equality in the opposite order': async (selection, list) => {
    const page = await list(selection);
    return selection.equal === undefined ? page : { ...page, records: [...page.records].reverse() };
  },
  'knows one collection alone': (selection, list) => list(without('group', selection)),
};

describe('the comparison of queries with a list in memory', () => {
  test('finds nothing wrong with a store that has no fault', async () => {
    const store = new FaultyStore((selection, list) => list(selection));
    expect(
      (
        await fc.check(
          agreement(() => store),
          { numRuns: 20 },
        )
      ).failed,
    ).toBe(false);
  });

  test.each(Object.entries(faults))('finds a store that %s', async (_, fault) => {
    const store = new FaultyStore(fault);
    expect(
      (
        await fc.check(
          agreement(() => store),
          { numRuns: 300, endOnFailure: true },
        )
      ).failed,
    ).toBe(true);
  });
});
