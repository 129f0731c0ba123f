import { finished } from '../../kernel/turns.ts';
import { type RecordData, StoreError } from '../../store/port.ts';
import { onlyVersion, withRange } from '../entry-range.ts';
import type { EntryFormat } from '../search/formats.ts';
import { POLICIES } from '../store-collections.ts';
import { collectionOf, type StoredCollection } from '../stored-collection.ts';
import { storedSearch, withTermsLeftOut } from '../stored-record.ts';

/** Adds search entries to the records of an archive. Archives leave them out, because they follow from the records. */
export class RestoredRecords {
  readonly #format: EntryFormat;
  readonly #collections = new Map<string, StoredCollection>();

  constructor(format: EntryFormat) {
    this.#format = format;
  }

  /** The policies of an archive come before its records. */
  restored(record: RecordData): RecordData {
    if (record.key.collection === POLICIES.name) {
      const collection = collectionOf(record);
      this.#collections.set(collection.incarnation, collection);
      return { ...record, head: withRange(record.head, onlyVersion(this.#format.version)) };
    }
    const collection = this.#collections.get(record.listing?.group ?? '');
    if (collection === undefined) throw new StoreError('corrupt', 'a record belongs to no collection');
    const search = finished(storedSearch(collection, record, this.#format));
    return { ...record, head: withTermsLeftOut(record.head, search), search: search.entry };
  }
}
