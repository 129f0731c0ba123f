import { type RecordData, StoreError } from './port.ts';

export interface BatchBounds {
  readonly records: number;
  /** Characters of bodies, parts included, and of search entries. */
  readonly characters: number;
}

/** The records of a load in batches of one statement or transaction; one large record is a batch of its own. */
export async function* batches(
  records: AsyncIterable<RecordData>,
  bounds: BatchBounds,
): AsyncGenerator<RecordData[], void, undefined> {
  let batch: RecordData[] = [];
  let characters = 0;
  for await (const record of records) {
    batch.push(record);
    characters += (record.body?.length ?? 0) + entrySize(record.search);
    for (const part of record.parts ?? []) characters += part.body.length;
    if (batch.length < bounds.records && characters < bounds.characters) continue;
    yield batch;
    batch = [];
    characters = 0;
  }
  if (batch.length > 0) yield batch;
}

/** The approximate size of a record's search entry. */
export function entrySize(search: RecordData['search']): number {
  if (search === undefined || search === null) return 0;
  let size = search.lexicon.length;
  for (const term of search.terms) size += term.length + 1;
  for (const { values } of search.vectors) size += values.byteLength;
  return size;
}

/** The error of a load whose space a sweep treated as abandoned. */
export function abandonedLoad(): StoreError {
  return new StoreError(
    'contention',
    'the load took too long between two records and was swept; start it again',
  );
}
