import type { OwnedCollection } from '../store/ownership.ts';
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
  await store.transact(USAGE_SCOPE, { gate: key, keys: [{ key }], frees: true }, (found) => ({
    writes: [{ put: { key, head: { ...plus(useIn(found.get(key)?.head ?? {}), more) } } }],
    result: null,
  }));
}

export function plus(one: Use, other: Use): Use {
  return { data: one.data + other.data, runs: one.runs + other.runs };
}

/** A single shard may be below zero: what one process adds another may take away. */
function useIn(head: Readonly<Record<string, unknown>>): Use {
  return { data: Number(head['data'] ?? 0), runs: Number(head['runs'] ?? 0) };
}
