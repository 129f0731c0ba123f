import type { OwnedCollection } from '../store/ownership.ts';
import { listPages, recordsOf } from '../store/pages.ts';
import type { ByteOwner, RecordKey, RecordStore, Scope } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';

/** The use of each owner, in a few records each, so that many processes add to them without contention. */
export const USAGE: OwnedCollection = {
  name: 'usage',
  pairedIndexes: false,
  owner: 'service',
  copies: 'none',
};
/** @testonly */
export const USAGE_SCOPE: Scope = { kind: 'system', name: 'usage' };
export const USAGE_SHARDS = 4;
const USAGE_GROUP = 'usage';
const PAGE = 500;
const OWNERS_PAGE = 100;

/** `data`: bytes in the owner's own scope. `runs`: bytes that its runs have stored. */
const kindsOfUse = ['data', 'runs'] as const;
export type KindOfUse = (typeof kindsOfUse)[number];
export type Use = Readonly<Record<KindOfUse, number>>;

export const NO_USE: Use = { data: 0, runs: 0 };

function usageKey({ kind, name }: ByteOwner, shard: number): RecordKey {
  return { collection: USAGE.name, id: recordId(kind, name, String(shard)) };
}

/** The sum over the shards. */
export async function readUse(store: RecordStore, owner: ByteOwner): Promise<Use> {
  const keys = Array.from({ length: USAGE_SHARDS }, (_, shard) => ({ key: usageKey(owner, shard) }));
  const { records } = await store.query(USAGE_SCOPE, { by: 'keys', keys });
  return records.reduce<Use>((sum, { head }) => plus(sum, useIn(head)), NO_USE);
}

export async function addUse(store: RecordStore, owner: ByteOwner, shard: number, more: Use): Promise<void> {
  const key = usageKey(owner, shard);
  const { kind, name } = owner;
  const listing = { group: USAGE_GROUP, id: key.id, hidden: false, indexes: {} };
  await store.transact(USAGE_SCOPE, { gate: key, keys: [{ key }], frees: true }, (found) => {
    const use = plus(useIn(found.get(key)?.head ?? {}), more);
    return { writes: [{ put: { key, head: { kind, name, ...use }, listing } }], result: null };
  });
}

export interface OwnersUse {
  readonly owner: ByteOwner;
  readonly use: Use;
}

/** The use of each owner, the largest first. */
export async function listUse(store: RecordStore): Promise<readonly OwnersUse[]> {
  const all = new Map<string, OwnersUse>();
  const selection = { collection: USAGE, group: USAGE_GROUP, limit: PAGE, view: 'head' } as const;
  for await (const { head } of recordsOf(listPages(store, USAGE_SCOPE, selection))) {
    const owner: ByteOwner = {
      kind: head['kind'] === 'spaces' ? 'spaces' : 'tenants',
      name: String(head['name']),
    };
    const id = `${owner.kind}/${owner.name}`;
    all.set(id, { owner, use: plus(all.get(id)?.use ?? NO_USE, useIn(head)) });
  }
  return [...all.values()].sort((a, b) => sumOf(b.use) - sumOf(a.use));
}

/**
 * The names of owners of one kind, one page at a time, in a stable order. `after` is the `next` of the page before, `null` for the
 * first page. A page may be empty.
 */
export async function ownersPage(
  store: RecordStore,
  kind: ByteOwner['kind'],
  after: string | null,
): Promise<{ readonly names: readonly string[]; readonly next: string | null }> {
  const list = {
    by: 'list',
    collection: USAGE,
    group: USAGE_GROUP,
    limit: OWNERS_PAGE,
    view: 'head',
  } as const;
  const { records, next } = await store.query(USAGE_SCOPE, after === null ? list : { ...list, after });
  const names = new Set(
    records.filter(({ head }) => head['kind'] === kind).map(({ head }) => String(head['name'])),
  );
  const [first] = records;
  if (after === null || first === undefined) return { names: [...names], next };
  // An owner with several records is listed once: an earlier page has listed it when one of its records lies before
  // this page.
  const keys = [...names]
    .flatMap((name) => Array.from({ length: USAGE_SHARDS }, (_, shard) => usageKey({ kind, name }, shard)))
    .flatMap((key) => (key.id < first.key.id ? [{ key, view: 'head' as const }] : []));
  if (keys.length === 0) return { names: [...names], next };
  const met = (await store.query(USAGE_SCOPE, { by: 'keys', keys })).records;
  for (const { head } of met) names.delete(String(head['name']));
  return { names: [...names], next };
}

/** A sum is negative only when a killed process had not added bytes that another process removed. */
export function sumOf({ data, runs }: Use): number {
  return Math.max(0, data + runs);
}

export function plus(one: Use, other: Use): Use {
  return { data: one.data + other.data, runs: one.runs + other.runs };
}

/** A single shard may be negative: one process may remove bytes that another added. */
function useIn(head: Readonly<Record<string, unknown>>): Use {
  return { data: Number(head['data'] ?? 0), runs: Number(head['runs'] ?? 0) };
}
