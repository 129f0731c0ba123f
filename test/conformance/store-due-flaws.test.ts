import { expect, test } from 'vitest';
import type { Collection, DueRequest, RecordPage, Scope } from '../../functions/store/port.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { dueChecks } from './store-due.ts';

/** A planted bug: each of these stores breaks one promise of `due`. */
const flaws: Readonly<Record<string, (page: RecordPage, request: DueRequest) => RecordPage>> = {
  'stops after the first page': (page) => ({ ...page, next: null }),
  'shows no bodies': (page) => ({
    ...page,
    records: page.records.map(({ key, head, due }) => ({ key, head, due: due ?? null })),
  }),
  'turns the order round': (page) => ({ ...page, records: page.records.toReversed() }),
};

class ChangedPages extends MemoryStore {
  change: (page: RecordPage, request: DueRequest) => RecordPage = (page) => page;

  protected override readDue(scope: Scope, collection: Collection, request: DueRequest): RecordPage {
    return this.change(super.readDue(scope, collection, request), request);
  }
}

class IgnoresNow extends MemoryStore {
  protected override readDue(scope: Scope, collection: Collection, request: DueRequest): RecordPage {
    return super.readDue(scope, collection, { ...request, now: null });
  }
}

class OnlyPast extends MemoryStore {
  protected override readDue(scope: Scope, collection: Collection, request: DueRequest): RecordPage {
    return super.readDue(scope, collection, { ...request, now: request.now ?? 1_790_000_000_000 });
  }
}

class LosesItsPlace extends MemoryStore {
  protected override readDue(scope: Scope, collection: Collection, request: DueRequest): RecordPage {
    const all = super.readDue(scope, collection, { now: request.now, limit: 1000 }).records;
    const start = Number(request.after ?? 0);
    const records = all.slice(start, start + request.limit);
    const end = start + records.length;
    return { records, next: end < all.length ? String(end) : null };
  }
}

/** Claims the records that it shows. */
class Takes extends MemoryStore {
  protected override readDue(scope: Scope, collection: Collection, request: DueRequest): RecordPage {
    const page = super.readDue(scope, collection, request);
    this.applyNow(
      scope,
      page.records.map((record) => ({ put: { ...record, due: null } })),
    );
    return page;
  }
}

async function failures(store: MemoryStore): Promise<string[]> {
  const failed: string[] = [];
  for (const [name, check] of Object.entries(dueChecks)) {
    await check(store).catch(() => failed.push(name));
  }
  return failed;
}

test.each(Object.entries(flaws))('a store that %s is found', async (_, change) => {
  const store = new ChangedPages(new MemoryDatabase());
  store.change = change;
  expect(await failures(store)).not.toEqual([]);
});

const flawedStores = { IgnoresNow, OnlyPast, LosesItsPlace, Takes };

test.each(Object.entries(flawedStores))('a store that is %s is found', async (_, Flawed) => {
  expect(await failures(new Flawed(new MemoryDatabase()))).not.toEqual([]);
});

test('a store without a flaw passes', async () => {
  expect(await failures(new MemoryStore(new MemoryDatabase()))).toEqual([]);
});
