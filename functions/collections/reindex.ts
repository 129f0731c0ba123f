import type { RecordParts } from './parts.ts';
import type { Incarnation } from './rules/incarnation.ts';
import { reindexKey, UPKEEP_SCOPE, upkeepListing } from './upkeep-collections.ts';

/** A collection whose records need new search entries. */
export interface StaleCollection {
  readonly space: string;
  readonly name: string;
  readonly incarnation: Incarnation;
}

/** Makes upkeep prepare the records of the collection. Has no effect if it is already announced. */
export async function announceReindex({ store, world }: RecordParts, stale: StaleCollection): Promise<void> {
  const { space, name, incarnation } = stale;
  const opened = await store();
  const key = reindexKey(space, incarnation);
  // Each search announces the collection until it is prepared, so the common case costs one read.
  const known = await opened.query(UPKEEP_SCOPE, { by: 'keys', keys: [{ key }] });
  if (known.records.length > 0) return;
  const head = { space, name, incarnation, run: null, after: null };
  const put = { key, head, body: null, listing: upkeepListing(key), due: world.clock.now() };
  await opened.transact(UPKEEP_SCOPE, { gate: key, keys: [{ key }] }, (found) => ({
    writes: found.get(key) === undefined ? [{ put }] : [],
    result: null,
  }));
}
