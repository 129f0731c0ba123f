import type { ByteOwner, RecordStore, Scope } from '../store/port.ts';
import { countedIn } from '../store/stored-size.ts';
import { addUse, plus, readUse, type Use } from './usage-store.ts';

const PAGE = 100;

export interface Recount {
  readonly before: Use;
  readonly found: Use;
}

export interface RecountedRuns {
  readonly scope: Scope;
  readonly collections: readonly string[];
}

/**
 * Counts an owner again from its records, and adds the difference. Bytes that a process has not added yet are then
 * counted twice, at most 8 MiB per process: recount an owner that has no current writes, or recount it again.
 */
export async function recount(
  store: RecordStore,
  owner: ByteOwner,
  collections: readonly string[],
  runs: RecountedRuns,
): Promise<Recount> {
  const scope: Scope = { kind: owner.kind, name: owner.name };
  const found = {
    data: await countedBytes(store, { scope, collections }, owner),
    runs: await countedBytes(store, runs, owner),
  };
  const before = await readUse(store, owner);
  const missing = plus(found, { data: -before.data, runs: -before.runs });
  if (missing.data !== 0 || missing.runs !== 0) await addUse(store, owner, 0, missing);
  return { before, found };
}

/** The counted bytes are in the record's head. */
async function countedBytes(
  store: RecordStore,
  { scope, collections }: RecountedRuns,
  owner: ByteOwner,
): Promise<number> {
  const scopeOwner = scope.kind === 'system' ? null : owner;
  let sum = 0;
  for await (const { records } of store.scan(scope, { collections, pageSize: PAGE }))
    for (const record of records) {
      const { owner: whose, bytes } = countedIn(record, scopeOwner);
      if (whose?.kind === owner.kind && whose.name === owner.name) sum += bytes;
    }
  return sum;
}
