import { ServiceError } from '../kernel/errors.ts';
import type { Head } from '../store/port.ts';
import { isOfNewerRelease, isOnly, rangeIn } from './entry-range.ts';
import type { RecordParts } from './parts.ts';
import { announceReindex } from './reindex.ts';
import type { StoredCollection } from './stored-collection.ts';

const RETRY_AFTER_SECONDS = 10;

/** The refusal of a search of a collection of which this release does not read all search entries. */
export class StaleEntries extends ServiceError {
  readonly #collection: StoredCollection;
  readonly #head: Head;

  constructor(collection: StoredCollection, head: Head) {
    super(
      'search_index_building',
      'The records of the collection are being prepared for searches; nothing was searched.',
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    );
    this.#collection = collection;
    this.#head = head;
  }

  /** Makes upkeep prepare the records. A collection of a newer release is left to it as long as it runs. */
  async announce(parts: RecordParts, space: string): Promise<void> {
    const { entries } = parts;
    if (isOfNewerRelease(this.#head, entries.newest) && (await entries.isNewerRunning())) return;
    await announceReindex(parts, { space, ...this.#collection });
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
