import { expect, test } from 'vitest';
import type { CountPage, CountSelection, Moment, RecordStore, Scope } from '../../functions/store/port.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { countChecks } from './store-count.ts';

type Flaw = (selection: CountSelection, moment: Moment) => Promise<CountPage>;

function without(name: 'after' | 'idPrefix', selection: CountSelection): CountSelection {
  const rest: { -readonly [Name in keyof CountSelection]: CountSelection[Name] } = { ...selection };
  delete rest[name];
  return rest;
}

/** A planted bug: each breaks one promise of counts. */
const flaws: Readonly<Record<string, Flaw>> = {
  'looks at the first condition alone': ({ equal = {}, ...selection }, moment) =>
    moment.count({ ...selection, equal: Object.fromEntries(Object.entries(equal).slice(0, 1)) }),
  'ignores the prefix of ids': (selection, moment) => moment.count(without('idPrefix', selection)),
  'counts one too many': async (selection, moment) => {
    const page = await moment.count(selection);
    return { ...page, count: page.count === 0 ? 0 : page.count + 1 };
  },
  'ends after its first page': async (selection, moment) => ({
    ...(await moment.count({ ...selection, max: Math.min(selection.max, 90) })),
    next: null,
  }),
  'does not say what it reads': async (selection, moment) => ({
    ...(await moment.count(selection)),
    reads: 1,
  }),
  'counts a page again': (selection, moment) => moment.count(without('after', selection)),
  'counts another group, where a group has none': async (selection, moment) => {
    const page = await moment.count(selection);
    return page.count > 0 ? page : moment.count({ ...selection, group: 'f'.repeat(32) });
  },
};

class CountingWrong extends MemoryStore {
  readonly #flaw: Flaw;

  constructor(flaw: Flaw) {
    super(new MemoryDatabase(), { pageMax: () => 100 });
    this.#flaw = flaw;
  }

  override snapshot<R>(scope: Scope, read: (moment: Moment) => Promise<R>): Promise<R> {
    return super.snapshot(scope, (moment) =>
      read({ ...moment, count: (selection) => this.#flaw(selection, moment) }),
    );
  }
}

/** Each count is of the moment at which it is made. */
class CountingNow extends MemoryStore {
  override snapshot<R>(scope: Scope, read: (moment: Moment) => Promise<R>): Promise<R> {
    const count: Moment['count'] = (selection) => super.snapshot(scope, (now) => now.count(selection));
    return super.snapshot(scope, (moment) => read({ ...moment, count }));
  }
}

async function failures(store: () => RecordStore): Promise<string[]> {
  const failed: string[] = [];
  for (const [name, check] of Object.entries(countChecks)) {
    await check(store(), { cases: 250, manyRecords: 700 }).catch(() => failed.push(name));
  }
  return failed;
}

test.each(Object.entries(flaws))('a store that %s is found', async (_, flaw) => {
  expect(await failures(() => new CountingWrong(flaw))).not.toEqual([]);
});

test('the checks find a store that counts at several moments', async () => {
  expect(await failures(() => new CountingNow(new MemoryDatabase()))).toEqual([
    'counts records where they are now, as of one moment',
  ]);
});

test('a store without a flaw passes', async () => {
  expect(await failures(() => new CountingWrong((selection, moment) => moment.count(selection)))).toEqual([]);
});
