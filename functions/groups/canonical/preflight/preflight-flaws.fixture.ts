import type {
  Decision,
  RecordData,
  RecordStore,
  Scope,
  TransactRequest,
  Write,
} from '../../../store/port.ts';
import { FENCES, tenantCollections } from '../records.ts';
import { changed, eachOf, recordsOf } from './preflight-stores.fixture.ts';

/** A way in which a store could be broken, and the checks of the probe that must not pass then. */
export interface StoreFlaw {
  readonly what: string;
  readonly flawed: (inner: RecordStore) => RecordStore;
  readonly failing: readonly string[];
}

const RESTORE = 'canonical.archive_restore';
const ISOLATION = 'canonical.tenant_isolation';
const CLEANUP = 'canonical.probe_cleanup';

export const flaws: readonly StoreFlaw[] = [
  {
    what: 'brings back both tenants instead of one',
    flawed: swapping(async (inner, scope, records) => {
      for (const each of [scope, beside(scope)]) await replace(inner, each, records);
    }),
    failing: [ISOLATION],
  },
  {
    what: 'takes the fences of another tenant with it',
    flawed: swapping(async (inner, scope, records) => {
      await replace(inner, scope, records);
      // Not in the cleanup, which empties both at the same time.
      if (records.length === 0) return;
      await replace(inner, beside(scope), (await recordsIn(inner, beside(scope))).filter(isNoFence));
    }),
    failing: [ISOLATION],
  },
  { what: 'swaps nothing', flawed: swapping(async () => undefined), failing: [RESTORE, CLEANUP] },
  {
    what: 'adds to what is there instead of replacing it',
    flawed: swapping(async (inner, scope, records) => {
      const names = new Set(records.map(({ key }) => key.collection + key.id));
      const had = await recordsIn(inner, scope);
      const kept = had.filter(({ key }) => !names.has(key.collection + key.id));
      await replace(inner, scope, [...records, ...kept]);
    }),
    failing: [RESTORE, CLEANUP],
  },
  {
    what: 'brings no fences back',
    flawed: swapping((inner, scope, records) => replace(inner, scope, records.filter(isNoFence))),
    failing: [RESTORE],
  },
  {
    what: 'brings documents back without their indexes',
    flawed: swapping((inner, scope, records) => {
      const bare = records.map(({ listing, ...record }) => ({
        ...record,
        listing: listing ? { ...listing, indexes: {} } : null,
      }));
      return replace(inner, scope, bare);
    }),
    failing: [RESTORE],
  },
  {
    what: 'empties no tenant',
    flawed: swapping(async (inner, scope, records) => {
      if (records.length > 0) await replace(inner, scope, records);
    }),
    failing: [CLEANUP],
  },
  {
    what: 'keeps all tenants in one place',
    flawed: (inner) =>
      changed(inner, {
        transact: (scope, request, decide) => inner.transact(merged(scope), request, decide),
        query: ((scope: Scope, selection: never) =>
          inner.query(merged(scope), selection)) as RecordStore['query'],
        scan: (scope, request) => inner.scan(merged(scope), request),
        swap: (scope, records, verify) => inner.swap(merged(scope), records, verify),
      }),
    failing: [RESTORE, ISOLATION],
  },
  {
    what: 'loses the fences of a commit',
    flawed: writing((write) => ('put' in write && write.put.key.collection === FENCES.name ? null : write)),
    failing: [RESTORE, ISOLATION],
  },
  {
    what: 'files the records of one tenant under the name of another',
    flawed: writing((write) =>
      'put' in write ? { put: JSON.parse(renamed(JSON.stringify(write.put))) as RecordData } : write,
    ),
    failing: [RESTORE, ISOLATION],
  },
  {
    what: 'does not do what it says it did, and so has nothing to bring back',
    flawed: writing((write, request) => (request.keys.length > 3 ? write : null)),
    failing: [RESTORE, ISOLATION],
  },
];

type Swap = (inner: RecordStore, scope: Scope, records: readonly RecordData[]) => Promise<void>;

function swapping(swap: Swap): (inner: RecordStore) => RecordStore {
  return (inner) =>
    changed(inner, {
      swap: async (scope, records, verify) => {
        await swap(inner, scope, await recordsOf(records));
        await verify();
      },
    });
}

/** The write that the flawed store makes for each write; `null` for a lost one. */
function writing(change: (write: Write, request: TransactRequest) => Write | null) {
  return (inner: RecordStore): RecordStore =>
    changed(inner, {
      transact: (scope, request, decide) =>
        inner.transact(scope, request, (found) => {
          const { writes, result }: Decision<Awaited<ReturnType<typeof decide>>['result']> = decide(found);
          return { writes: writes.flatMap((write) => change(write, request) ?? []), result };
        }),
    });
}

function replace(inner: RecordStore, scope: Scope, records: readonly RecordData[]): Promise<void> {
  return inner.swap(scope, eachOf(records), () => undefined);
}

async function recordsIn(store: RecordStore, scope: Scope): Promise<RecordData[]> {
  const collections = tenantCollections.map(({ name }) => name);
  const records: RecordData[] = [];
  for await (const page of store.scan(scope, { collections, pageSize: 10 })) records.push(...page.records);
  return records;
}

function isNoFence({ key }: RecordData): boolean {
  return key.collection !== FENCES.name;
}

/** The other tenant of the same probe. */
function beside(scope: Scope): Scope {
  return { ...scope, name: scope.name.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')) };
}

/** Where a store without a notion of tenants would put them; one place a probe, so that probes stay apart. */
export function merged(scope: Scope): Scope {
  return scope.kind === 'tenants' ? { ...scope, name: scope.name.replace(/-[ab]$/, '') } : scope;
}

function renamed(text: string): string {
  return text.replace(/(svc-preflight-[0-9a-f]{32})-[ab]/g, '$1-c');
}
