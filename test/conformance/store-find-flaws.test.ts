import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RecordData, Scope, Write } from '../../functions/store/port.ts';
import type { FindPage, FindRequest, FoundNearest } from '../../functions/store/search.ts';
import { MemoryDatabase, type Stored } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { findChecks } from './store-find.ts';
import { compareWithModel, turns } from './store-find-model.ts';

type Finding = (all: readonly Stored[], request: FindRequest) => FindPage;

/** A planted bug: each answers one kind of find wrongly. */
const flawed: Readonly<Record<string, (find: Finding) => Finding>> = {
  'counts past the maximum': (find) => (all, request) =>
    find(all, request.by === 'counts' ? { ...request, max: 1_000_000 } : request),
  'finds records of all groups': (find) => (all, request) =>
    find(
      all.map((stored) => withSearch(stored, (search) => ({ ...search, group: request.group }))),
      request,
    ),
  'finds records of all collections': (find) => (all, request) =>
    find(
      all.map((stored) => withKey(stored, request.collection)),
      request,
    ),
  'takes letters with and without accents for one': (find) => (all, request) => {
    const plain = (term: string) => term.normalize('NFD').replaceAll(/\p{M}/gu, '');
    const stored = all.map((each) =>
      withSearch(each, (search) => ({ ...search, terms: search.terms.map(plain) })),
    );
    if (request.by === 'term') return find(stored, { ...request, term: plain(request.term) });
    if (request.by === 'counts') return find(stored, { ...request, terms: request.terms.map(plain) });
    return find(all, request);
  },
  'cuts terms to 40 characters': (find) => (all, request) => {
    const cut = (term: string) => term.slice(0, 40);
    const stored = all.map((each) =>
      withSearch(each, (search) => ({ ...search, terms: search.terms.map(cut) })),
    );
    return find(stored, request.by === 'counts' ? { ...request, terms: request.terms.map(cut) } : request);
  },
  'begins a page with the last record of the page before': (find) => (all, request) =>
    find(
      all,
      request.by === 'term' && request.after !== undefined
        ? { ...request, after: request.after.slice(0, 31) }
        : request,
    ),
  'promises a page after the last one': (find) => (all, request) => {
    const page = find(all, request);
    return 'entries' in page ? { ...page, next: page.entries.at(-1)?.id ?? null } : page;
  },
  'drops zero vectors': (find) =>
    onNearest(find, (found) => ({ ...found, matches: found.matches.filter(({ score }) => score !== 0) })),
  'orders equal scores by record id': (find) =>
    onNearest(find, (found) => ({
      ...found,
      matches: found.matches.toSorted(
        (left, right) => right.score - left.score || (left.id < right.id ? -1 : 1),
      ),
    })),
  'leaves out the last match': (find) =>
    onNearest(find, (found) => ({ ...found, matches: found.matches.slice(0, -1) })),
  'says that it narrowed and did not': (find) => (all, request) => {
    if (request.by !== 'nearest' || request.among === undefined) return find(all, request);
    const { among: _, ...whole } = request;
    return { ...(find(all, whole) as FoundNearest), narrowed: true };
  },
  'looks at the first prefix alone': (find) => (all, request) => {
    const prefixes = request.by === 'nearest' ? request.among?.idPrefixes : undefined;
    if (request.by !== 'nearest' || prefixes === undefined) return find(all, request);
    return find(all, { ...request, among: { ...request.among, idPrefixes: prefixes.slice(0, 1) } });
  },
  'rounds scores to three digits': (find) =>
    onNearest(find, (found) => ({
      ...found,
      matches: found.matches.map(({ id, score }) => ({ id, score: Number(score.toPrecision(3)) })),
    })),
  'passes an unfinished answer for a proven one': (find) => (all, request) => {
    const seen = request.by === 'nearest' ? all.slice(0, request.readsMax) : all;
    return find(seen, request);
  },
};

class FlawedFind extends MemoryStore {
  flaw: (find: Finding) => Finding = (find) => find;

  protected override find(scope: Scope, all: readonly Stored[], request: FindRequest): FindPage {
    return this.flaw((stored, asked) => super.find(scope, stored, asked))(all, request);
  }
}

class FindsAtTheLatestMoment extends MemoryStore {
  protected override find(scope: Scope, _all: readonly Stored[], request: FindRequest): FindPage {
    return super.find(scope, this.database.all(scope), request);
  }
}

/** Sees its own writes at once, and those of others only after its next write. */
class FindsWhatItSawBefore extends MemoryStore {
  readonly #seen = new Map<string, readonly Stored[]>();

  protected override find(scope: Scope, all: readonly Stored[], request: FindRequest): FindPage {
    const seen = this.#seen.get(scope.name) ?? all;
    this.#seen.set(scope.name, seen);
    return super.find(scope, seen, request);
  }

  protected override applyNow(scope: Scope, writes: readonly Write[]): void {
    super.applyNow(scope, writes);
    this.#seen.delete(scope.name);
  }

  protected override replaceNow(scope: Scope, records: readonly RecordData[]): void {
    super.replaceNow(scope, records);
    this.#seen.delete(scope.name);
  }
}

class RemovesAnAbsentEntry extends MemoryStore {
  protected override applyNow(scope: Scope, writes: readonly Write[]): void {
    super.applyNow(scope, changed(writes, undefined, null));
  }
}

class KeepsAnEntryOfNull extends MemoryStore {
  protected override applyNow(scope: Scope, writes: readonly Write[]): void {
    super.applyNow(scope, changed(writes, null, undefined));
  }
}

class SwapsWithoutEntries extends MemoryStore {
  protected override replaceNow(scope: Scope, records: readonly RecordData[]): void {
    super.replaceNow(
      scope,
      records.map((record) => ({ ...record, search: null })),
    );
  }
}

class KeepsVectorsOfTheEntryBefore extends MemoryStore {
  protected override applyNow(scope: Scope, writes: readonly Write[]): void {
    const kept = writes.map((write) => {
      if (!('put' in write) || write.put.search == null) return write;
      const before = this.database.find(scope, write.put.key)?.record.search?.vectors ?? [];
      const slots = new Set(write.put.search.vectors.map(({ slot }) => slot));
      const vectors = [...write.put.search.vectors, ...before.filter(({ slot }) => !slots.has(slot))];
      return { put: { ...write.put, search: { ...write.put.search, vectors } } };
    });
    super.applyNow(scope, kept);
  }
}

const stores: Readonly<Record<string, (database: MemoryDatabase) => MemoryStore>> = {
  ...Object.fromEntries(Object.entries(flawed).map(([name, flaw]) => [name, storeOf(flaw)])),
  'finds at the latest moment': (database) => new FindsAtTheLatestMoment(database),
  'finds what it saw before': (database) => new FindsWhatItSawBefore(database),
  'removes an absent entry': (database) => new RemovesAnAbsentEntry(database),
  'keeps an entry of null': (database) => new KeepsAnEntryOfNull(database),
  'swaps without entries': (database) => new SwapsWithoutEntries(database),
  'keeps vectors of the entry before': (database) => new KeepsVectorsOfTheEntryBefore(database),
};

async function failures(open: (database: MemoryDatabase) => MemoryStore): Promise<string[]> {
  const failed: string[] = [];
  for (const [name, check] of Object.entries(findChecks)) {
    const database = new MemoryDatabase();
    await check(open(database), open(database)).catch(() => failed.push(name));
  }
  return failed;
}

test.each(Object.entries(stores))('a store that %s is found', async (_, open) => {
  expect(await failures(open)).not.toEqual([]);
});

test('a store without a flaw passes', async () => {
  expect(await failures((database) => new MemoryStore(database))).toEqual([]);
});

/** These flaws are in the handling of a write, or small random cases detect them. */
test.each([
  'removes an absent entry',
  'keeps an entry of null',
  'swaps without entries',
  'keeps vectors of the entry before',
  'finds records of all groups',
  'orders equal scores by record id',
  'says that it narrowed and did not',
])('a store that %s is found by random cases', async (name) => {
  const property = fc.asyncProperty(turns, (cases) => {
    const database = new MemoryDatabase();
    const store = stores[name]?.(database) ?? new MemoryStore(database);
    return compareWithModel([store], cases);
  });
  const outcome = await fc.check(property, { numRuns: 500, seed: 1, endOnFailure: true });
  expect(outcome.failed).toBe(true);
});

function storeOf(flaw: (find: Finding) => Finding) {
  return (database: MemoryDatabase) => {
    const store = new FlawedFind(database);
    store.flaw = flaw;
    return store;
  };
}

function onNearest(find: Finding, change: (found: FoundNearest) => FoundNearest): Finding {
  return (all, request) => {
    const page = find(all, request);
    return 'matches' in page ? change(page) : page;
  };
}

type Search = NonNullable<Stored['record']['search']>;

function withSearch(stored: Stored, change: (search: Search) => Search): Stored {
  const { search } = stored.record;
  return search === null ? stored : { ...stored, record: { ...stored.record, search: change(search) } };
}

function withKey(stored: Stored, collection: string): Stored {
  return { ...stored, record: { ...stored.record, key: { collection, id: stored.record.key.id } } };
}

function changed(
  writes: readonly Write[],
  from: RecordData['search'],
  to: RecordData['search'],
): readonly Write[] {
  return writes.map((write) => {
    if (!('put' in write) || write.put.search !== from) return write;
    const { search: _, ...put } = write.put;
    return { put: to === undefined ? put : { ...put, search: to } };
  });
}
