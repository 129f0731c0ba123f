import { expect, test } from 'vitest';
import type {
  KeysSelection,
  ListSelection,
  PartPage,
  PartsSelection,
  RecordPage,
  Scope,
} from '../../functions/store/port.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { listViewChecks } from './store-list.ts';

/** A planted bug: each breaks one promise of the views of a list. */
const flaws: Readonly<
  Record<string, (page: RecordPage, selection: ListSelection) => RecordPage | Partial<ListSelection>>
> = {
  'ignores the view': () => ({ view: 'body' }),
  'shows heads by default': (_, { view }) => ({ view: view ?? 'head' }),
  'shows a head with a body of null': (page, { view }) => ({
    ...page,
    records: page.records.map((record) => (view === 'head' ? { ...record, body: null } : record)),
  }),
  'forgets when a head is due': (page, { view }) => ({
    ...page,
    records: page.records.map(({ due, ...record }) =>
      view === 'head' ? record : { ...record, due: due ?? null },
    ),
  }),
  'ends a list of heads after its first page': (page, { view }) =>
    view === 'head' ? { ...page, next: null } : page,
};

class ChangedLists extends MemoryStore {
  change: (typeof flaws)[string] = (page) => page;

  override async query(scope: Scope, selection: KeysSelection | ListSelection): Promise<RecordPage>;
  override async query(scope: Scope, selection: PartsSelection): Promise<PartPage>;
  override async query(
    scope: Scope,
    selection: KeysSelection | ListSelection | PartsSelection,
  ): Promise<RecordPage | PartPage> {
    if (selection.by === 'parts') return super.query(scope, selection);
    const page = await super.query(scope, selection);
    if (selection.by === 'keys') return page;
    const changed = this.change(page, selection);
    return 'records' in changed ? changed : super.query(scope, { ...selection, ...changed });
  }
}

async function failures(change: (typeof flaws)[string]): Promise<string[]> {
  const failed: string[] = [];
  for (const [name, check] of Object.entries(listViewChecks)) {
    const store = new ChangedLists(new MemoryDatabase());
    store.change = change;
    await check(store).catch(() => failed.push(name));
  }
  return failed;
}

test.each(Object.entries(flaws))('a store that %s is found', async (_, change) => {
  expect(await failures(change)).not.toEqual([]);
});

test('a store without a flaw passes', async () => {
  expect(await failures((page) => page)).toEqual([]);
});
