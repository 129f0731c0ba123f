import { describe, expect, test } from 'vitest';
import type { RecordParts } from '../../functions/collections/parts.ts';
import { searchRecords } from '../../functions/collections/search-records.ts';
import { POLICIES } from '../../functions/collections/store-collections.ts';
import { UPKEEP_SCOPE } from '../../functions/collections/upkeep-collections.ts';
import type { RecordData, RecordStore, Scope } from '../../functions/store/port.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { nextFormat, nextFormats, thisFormat } from './next-entries.ts';
import { NAME } from './records-search-stage.ts';
import { type Plants, TwoReleases } from './two-releases.ts';
import { type Fault, upgradeAndBack } from './two-releases-scenario.ts';

const EFFORT = { records: 120, pages: 1 };

function faultOf(plants: Plants): Promise<Fault> {
  const store = new MemoryStore(new MemoryDatabase());
  return upgradeAndBack(new TwoReleases(store, EFFORT.records, plants), EFFORT);
}

/** Every write of a policy record goes through `change`; `null` omits it. */
function changingPolicies(
  store: RecordStore,
  change: (put: RecordData, stored: RecordData) => RecordData | null,
): RecordStore {
  return patched(store, {
    transact: (scope, request, decide) =>
      store.transact(scope, request, (found) => {
        const decision = decide(found);
        const writes = decision.writes.flatMap((write) => {
          if (!('put' in write) || write.put.key.collection !== POLICIES.name) return [write];
          const stored = found.get(write.put.key);
          const put = stored === undefined ? write.put : change(write.put, stored);
          return put === null ? [] : [{ put }];
        });
        return { ...decision, writes };
      }),
  });
}

const isSweep = ({ head }: RecordData) => head['entriesNext'] !== undefined;
const isNarrowed = ({ head }: RecordData) => head['entriesFrom'] === head['entriesTo'];

/** Only a sweep changes the policy. */
const withoutWidening = (store: RecordStore) =>
  changingPolicies(store, (put) => (isSweep(put) || isNarrowed(put) ? put : null));

/** A writer of another version leaves the sweep its name, so that it ends in spite of the writer. */
const keepingSweeps = (store: RecordStore) =>
  changingPolicies(store, (put, stored) => {
    const { entriesNext, entriesRun } = stored.head;
    const isWriter = isSweep(stored) && !isSweep(put) && !isNarrowed(put);
    return isWriter ? { ...put, head: { ...put.head, entriesNext, entriesRun } as RecordData['head'] } : put;
  });

/** Marks are written and never found. */
const withoutMarks = (store: RecordStore) =>
  patched(store, {
    query: ((scope: Scope, selection: never) => {
      const { by } = selection as { by: string };
      if (scope.name === UPKEEP_SCOPE.name && by === 'keys')
        return Promise.resolve({ records: [], next: null });
      return store.query(scope, selection);
    }) as RecordStore['query'],
  });

/** Searches know one format of those that a collection has. */
const readingOne = (at: 0 | -1) => (parts: RecordParts) => ({
  ...parts,
  entries: new Proxy(parts.entries, {
    get(target, name) {
      if (name === 'formatsIn')
        return (range: never) =>
          target.formatsIn(range)?.filter((_, index, all) => index === (at + all.length) % all.length) ??
          null;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  }),
});

describe('two releases over one store', () => {
  test('without a fault answer every search right', async () => {
    expect(await faultOf({})).toBeNull();
  });

  const cases: readonly (readonly [string, Plants, RegExp])[] = [
    [
      'a writer that does not widen the range',
      { newer: { store: withoutWidening } },
      /^newer does not go over$/,
    ],
    [
      'a late writer of the older release that does not widen it',
      { older: { store: withoutWidening } },
      /^sweep to the next version, stop \d+: wrong$/,
    ],
    [
      'a sweep that ends in spite of a writer of another version',
      { older: { store: keepingSweeps } },
      /^sweep to the next version, stop \d+: wrong$/,
    ],
    [
      'a search by the newer format alone',
      { newer: { parts: readingOne(-1) } },
      /^newer with entries of both: wrong$/,
    ],
    [
      'a search by the older format alone',
      { newer: { parts: readingOne(0) } },
      /^newer with entries of both: wrong$/,
    ],
    [
      'a release that goes over beside a server of the older one',
      { newer: { store: withoutMarks } },
      /^older beside newer: refused$/,
    ],
  ];
  test.each(cases)('are found out with %s', async (_, plants, fault) => {
    expect(await faultOf(plants)).toMatch(fault);
  });
});

describe('a collection with entries of one version', () => {
  /** The calls of the port that a search and a write make. */
  async function callsOf(
    pick: (releases: TwoReleases) => RecordParts,
    version: number,
  ): Promise<readonly string[]> {
    const calls: string[] = [];
    const counting = <Port extends object>(port: Port, name: string): Port =>
      new Proxy(port, {
        get(target, verb) {
          const member: unknown = Reflect.get(target, verb, target);
          if (typeof member !== 'function') return member;
          return (...given: readonly unknown[]) => {
            const [asked] = given as [{ by?: string; kind?: string }];
            calls.push(`${name} ${String(verb)} ${asked.kind ?? asked.by}`);
            return Reflect.apply(member, target, given) as unknown;
          };
        },
      });
    const counted = (store: RecordStore) =>
      counting(
        patched(store, {
          snapshot: (scope, read) => store.snapshot(scope, (moment) => read(counting(moment, 'moment'))),
        }),
        'store',
      );
    const plants = { older: { store: counted }, newer: { store: counted } };
    const releases = new TwoReleases(new MemoryStore(new MemoryDatabase()), 20, plants);
    const parts = pick(releases);
    await releases.begin(parts);
    await releases.write(parts, [1, 2, 3]);
    expect(await releases.head()).toMatchObject({ entriesFrom: version, entriesTo: version });
    calls.length = 0;
    await releases.write(parts, [1]);
    for (const search of [
      { lexical: { query: 'bircha cedara' } },
      { lexical: { query: 'birch', prefixMatching: true } },
      { vector: { field: 'contentEmbedding', value: Array.from({ length: 16 }, () => 1) } },
    ])
      await searchRecords(parts, releases.space, NAME, search);
    return calls;
  }

  test('costs a release that knows two of them no call more', async () => {
    const alone = await callsOf(({ older }) => older, thisFormat.version);
    const search = (...finds: string[]) => [
      'store snapshot spaces',
      'moment query keys',
      ...finds.map((by) => `moment find ${by}`),
      'moment query keys',
    ];
    expect(alone).toEqual([
      'store transact spaces',
      ...search('counts', 'term', 'term', 'term'),
      ...search('counts', 'term', 'term'),
      ...search('nearest'),
    ]);
    expect(await callsOf(({ pinned }) => pinned, thisFormat.version)).toEqual(alone);
    expect(await callsOf(({ newer }) => newer, nextFormat.version)).toEqual(alone);
    expect(nextFormats).toHaveLength(2);
  });
});
