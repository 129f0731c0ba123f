import { ServiceError } from '../kernel/errors.ts';
import type { Head } from '../store/port.ts';
import { isOnly, rangeIn } from './entry-range.ts';
import type { RecordParts } from './parts.ts';
import { announceReindex } from './reindex.ts';
import type { StoredCollection } from './stored-collection.ts';

const RETRY_AFTER_SECONDS = 10;

/** The refusal of a search of a collection of which this release does not read all search entries. */
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

  /** Makes upkeep prepare the records: that of a newer release, where one runs. */
  announce(parts: RecordParts, space: string): Promise<void> {
    return announceReindex(parts, { space, ...this.#collection });
  }
}

interface Searched {
  readonly collection: StoredCollection;
  readonly head: Head;
}

/** Makes upkeep prepare the records of a collection that was searched and has entries of another version than are written now. */
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
    // The search is answered, and a later one announces the collection, too.
  }
}
