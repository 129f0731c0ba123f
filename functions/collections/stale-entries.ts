import { ServiceError } from '../kernel/errors.ts';
import type { Head } from '../store/port.ts';
import { isOfNewerRelease } from './entry-version.ts';
import type { RecordParts } from './parts.ts';
import { announceReindex } from './reindex.ts';
import type { StoredCollection } from './stored-collection.ts';

const RETRY_AFTER_SECONDS = 10;

/** The refusal of a search of a collection whose records are not all prepared for the searches of this release. */
export class StaleEntries extends ServiceError {
  readonly #collection: StoredCollection;
  readonly #isOurs: boolean;

  constructor(collection: StoredCollection, head: Head) {
    super(
      'search_index_building',
      'The records of the collection are being prepared for searches; nothing was searched.',
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    );
    this.#collection = collection;
    this.#isOurs = !isOfNewerRelease(head);
  }

  /** Makes upkeep prepare the records. A collection of a newer release is left to it. */
  async announce(parts: RecordParts, space: string): Promise<void> {
    const { name, incarnation } = this.#collection;
    if (this.#isOurs) await announceReindex(parts, { space, name, incarnation });
  }
}
