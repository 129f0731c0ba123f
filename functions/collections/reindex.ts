import type { RecordParts } from './parts.ts';
import type { Incarnation } from './rules/incarnation.ts';
import { reindexKey, UPKEEP_SCOPE, upkeepListing } from './upkeep-collections.ts';

/** A collection whose records are prepared for searches anew. */
export interface StaleCollection {
  readonly space: string;
  readonly name: string;
  readonly incarnation: Incarnation;
}

/** Makes upkeep prepare the records of the collection. Without effect where it does so already. */
export async function announceReindex({ store, world }: RecordParts, stale: StaleCollection): Promise<void> {
  const { space, name, incarnation } = stale;
  const opened = await store();
  const key = reindexKey(space, incarnation);
  // Each search of the collection announces it until it is prepared, so the common case is one read.
  const known = await opened.query(UPKEEP_SCOPE, { by: 'keys', keys: [{ key }] });
  if (known.records.length > 0) return;
  const head = { space, name, incarnation, run: null, after: null };
  const put = { key, head, body: null, listing: upkeepListing(key), due: world.clock.now() };
  await opened.transact(UPKEEP_SCOPE, { gate: key, keys: [{ key }] }, (found) => ({
    writes: found.get(key) === undefined ? [{ put }] : [],
    result: null,
  }));
}
