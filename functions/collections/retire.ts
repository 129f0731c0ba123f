import type { RecordParts } from './parts.ts';
import type { Incarnation } from './rules/incarnation.ts';
import { retiredKey, UPKEEP_SCOPE, upkeepListing } from './upkeep-collections.ts';

/** No call that saw the name point at an incarnation lasts so long, so afterwards nothing is added to it. */
export const RETIRED_REST_MS = 600_000;

/** A removal that an intent announces is made within this time, or announces itself again: clocks differ. */
const ANNOUNCED_MS = 240_000;

export interface RetiredCollection {
  readonly space: string;
  readonly name: string;
  readonly incarnation: Incarnation;
  /** The import that loads it; `null` where a name has pointed at it. */
  readonly runId: string | null;
}

/** Says whether the announced change may still be made. */
export type Announced = () => boolean;

/**
 * Writes the intent to remove the records of an incarnation. Call it before the change that leaves them without a name: a crash
 * between the two then leaves an intent too many, which the sweeper drops, and never records that no intent names.
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
