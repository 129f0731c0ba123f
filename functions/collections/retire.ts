import type { RecordParts } from './parts.ts';
import type { Incarnation } from './rules/incarnation.ts';
import { retiredKey, UPKEEP_SCOPE, upkeepListing } from './upkeep-collections.ts';

/** Longer than any call: after this time, no call that saw the old incarnation can still add records to it. */
export const RETIRED_REST_MS = 600_000;

/** An announced change is made within this time, or announced again. Shorter than the rest: clocks differ. */
const ANNOUNCED_MS = 240_000;

export interface RetiredCollection {
  readonly space: string;
  readonly name: string;
  readonly incarnation: Incarnation;
  /** The run of the import that loads it; `null` if a name pointed at it. */
  readonly runId: string | null;
}

/** Returns whether the announced change may still be made. */
export type Announced = () => boolean;

/**
 * Writes the intent to remove the records of an incarnation. Call it before the change that removes their name: a crash between the
 * two then leaves only an extra intent, which the sweeper drops, and never records without an intent.
 */
export async function announceRetired(parts: RecordParts, retired: RetiredCollection): Promise<Announced> {
  const store = await parts.store();
  const { clock } = parts.world;
  const now = clock.now();
  const key = retiredKey(retired.space, retired.incarnation);
  const listing = upkeepListing(key);
  const put = { key, head: { ...retired }, body: null, listing, due: now + RETIRED_REST_MS };
  await store.transact(UPKEEP_SCOPE, { gate: key, keys: [{ key }], frees: true }, () => ({
    writes: [{ put }],
    result: null,
  }));
  return () => clock.now() < now + ANNOUNCED_MS;
}
