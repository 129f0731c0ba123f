import type { OwnedCollection } from '../store/ownership.ts';
import { listPages, recordsOf } from '../store/pages.ts';
import type { ByteOwner, RecordKey, RecordStore, Scope } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';

/** What each owner has stored: a few records each, so that many processes add to them without contention. */
export const USAGE: OwnedCollection = {
  name: 'usage',
  pairedIndexes: false,
  owner: 'service',
  copies: 'none',
};
export const USAGE_SCOPE: Scope = { kind: 'system', name: 'usage' };
export const SHARDS = 4;
const USAGE_GROUP = 'usage';
const PAGE = 500;

/** What lies in the scope of the owner itself, and what its runs have stored. */
export const kindsOfUse = ['data', 'runs'] as const;
export type KindOfUse = (typeof kindsOfUse)[number];
export type Use = Readonly<Record<KindOfUse, number>>;

export const NO_USE: Use = { data: 0, runs: 0 };

export function usageKey({ kind, name }: ByteOwner, shard: number): RecordKey {
  return { collection: USAGE.name, id: recordId(kind, name, String(shard)) };
}

/** The sum over the shards. */
export async function readUse(store: RecordStore, owner: ByteOwner): Promise<Use> {
  const keys = Array.from({ length: SHARDS }, (_, shard) => ({ key: usageKey(owner, shard) }));
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

/** What each owner has stored, those with the most bytes first. */
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
 * The owners of one kind, one after the other, in an order that stays: the first, or the next one behind a position. Their list is
 * never held, however long it is.
 */
export async function nextOwner(
  store: RecordStore,
  kind: ByteOwner['kind'],
  after: string | null,
): Promise<{ readonly name: string; readonly next: string | null } | null> {
  const selection = { collection: USAGE, group: USAGE_GROUP, limit: 1, view: 'head' } as const;
  for await (const { records, next } of listPages(store, USAGE_SCOPE, selection, { from: after })) {
    const [record] = records;
    if (record?.head['kind'] !== kind) continue;
    const name = String(record.head['name']);
    // An owner has several records, and is met once.
    const keys = Array.from({ length: SHARDS }, (_, shard) => ({ key: usageKey({ kind, name }, shard) }));
    const own = (await store.query(USAGE_SCOPE, { by: 'keys', keys })).records.map(({ key }) => key.id);
    if (own.every((id) => id >= record.key.id)) return { name, next };
  }
  return null;
}

/** What is counted can only be less than nothing where a killed process had not added what another removed. */
export function sumOf({ data, runs }: Use): number {
  return Math.max(0, data + runs);
}

export function plus(one: Use, other: Use): Use {
  return { data: one.data + other.data, runs: one.runs + other.runs };
}

/** A single shard may be below zero: what one process adds another may take away. */
function useIn(head: Readonly<Record<string, unknown>>): Use {
  return { data: Number(head['data'] ?? 0), runs: Number(head['runs'] ?? 0) };
}
