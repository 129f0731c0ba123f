import { ServiceError } from '../kernel/errors.ts';
import type { Head } from '../store/port.ts';
import { isOnly, rangeIn } from './entry-range.ts';
import type { RecordParts } from './parts.ts';
import { announceReindex } from './reindex.ts';
import type { StoredCollection } from './stored-collection.ts';

const RETRY_AFTER_SECONDS = 10;

/** The refusal of a search in a collection with search entries that this release cannot read. */
export class StaleEntries extends ServiceError {
  readonly #collection: StoredCollection;

  constructor(collection: StoredCollection) {
    super(
      'search_index_building',
      'The records of the collection are being prepared for searches; nothing was searched.',
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    );
    this.#collection = collection;
  }

  /** Makes upkeep prepare the records; if a newer release runs, its upkeep does so. */
  announce(parts: RecordParts, space: string): Promise<void> {
    return announceReindex(parts, { space, ...this.#collection });
  }
}

interface Searched {
  readonly collection: StoredCollection;
  readonly head: Head;
}

/** After a search, makes upkeep prepare the records if the collection has entries of another version than the one written now. */
export async function announceOutdated(
  parts: RecordParts,
  space: string,
  { collection, head }: Searched,
): Promise<void> {
  const { entries } = parts;
  try {
    const { version } = await entries.written();
    if (isOnly(rangeIn(head), version) || !entries.mayAnnounce(collection.incarnation)) return;
    await announceReindex(parts, { space, ...collection });
  } catch {
    // Ignore the failure: the search is answered, and the next one announces the collection again.
  }
}
