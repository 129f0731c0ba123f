import type { RecordData } from '../port.ts';
import {
  continuationPath,
  type Fields,
  type FirestoreValue,
  type Searched,
  type StoredFields,
} from './layout.ts';
import {
  searchBytes,
  searchFieldNames,
  searchFields,
  searchIndexBytes,
  vectorFields,
} from './search-fields.ts';

/** How a write changes the search entry of a record. */
export interface SearchChange {
  /** Changed fields of the record's own document; `undefined` removes a field. */
  readonly changes: Readonly<Record<string, FirestoreValue | undefined>>;
  /** Bytes of the index entries that the write adds and removes. */
  readonly indexBytes: number;
  /** Bytes of the record's own document that the entry uses beside `changes`. */
  readonly keptBytes: number;
  /** The document of its own that the entry gets. */
  readonly beside: { readonly path: string; readonly fields: StoredFields } | null;
  /** The document that it had, and has no longer. */
  readonly left: string | null;
}

/** The most bytes of a record's own document with its search entry; a twentieth is reserved for unknown fields. */
const ownBytesMax = 1_000_000;

/** The size that is assumed for an unknown body: the largest one. */
const bodyBytesMax = 900_100;

/** `otherBytes`: of the record's own document without its search entry. `parts`: how many documents hold its parts. */
export function createdEntry(
  path: string,
  { search = null }: RecordData,
  otherBytes: number,
  parts: number,
): SearchChange {
  return search === null
    ? { changes: {}, indexBytes: 0, keptBytes: 0, beside: null, left: null }
    : changedEntry(path, search, undefined, { otherBytes, parts });
}

/** `sentBytes`: the bytes of the record's own document within the write. */
export function updatedEntry(path: string, fields: Fields, put: RecordData, sentBytes: number): SearchChange {
  const { searched: before, continuations = 0 } = fields;
  if (put.search === undefined) {
    const keptBytes = before?.document === 0 ? before.bytes : 0;
    return { changes: {}, indexBytes: 0, keptBytes, beside: null, left: null };
  }
  const parts = continuations - (before !== undefined && before.document > 0 ? 1 : 0);
  const otherBytes = sentBytes + unsentBytes(fields, put);
  return changedEntry(path, put.search, before, { otherBytes, parts });
}

/** The most bytes of the record's own document that the write itself does not contain. */
function unsentBytes(fields: Fields, put: RecordData): number {
  const body = fields.body === undefined ? bodyBytesMax : Buffer.byteLength(fields.body);
  const ofBody = put.body === undefined ? body : 0;
  const ofListing = put.listing === undefined ? (fields.orderBytes ?? 0) : 0;
  const ofParts = (fields.partOrderBytes ?? 0) > 0 ? bodyBytesMax : 0;
  return ofBody + ofListing + ofParts;
}

function changedEntry(
  path: string,
  search: NonNullable<RecordData['search']> | null,
  before: Searched | undefined,
  { otherBytes, parts }: { readonly otherBytes: number; readonly parts: number },
): SearchChange {
  const entry = search === null ? {} : searchFields(search);
  const bytes = searchBytes(entry);
  const isOwn = search !== null && otherBytes + bytes <= ownBytesMax;
  const isBeside = search !== null && !isOwn;
  const wasBeside = before !== undefined && before.document > 0;
  const own = isOwn ? entry : {};
  const indexBytes = search === null ? 0 : searchIndexBytes(path, search);
  const place = continuationPath(path, parts + 1);
  const searched = {
    document: isBeside ? parts + 1 : 0,
    bytes,
    indexBytes,
    vectorFields: vectorFields.flatMap(({ name }) => (name in entry ? [name] : [])).join(' '),
  };
  const count = parts + (isBeside ? 1 : 0);
  return {
    changes: {
      ...(wasBeside ? {} : removedFields(before, own)),
      ...own,
      ...(search === null && before === undefined
        ? {}
        : { searched: search === null ? undefined : searched }),
      ...(isBeside === wasBeside ? {} : { continuations: count === 0 ? undefined : count }),
    },
    indexBytes: indexBytes + (before?.indexBytes ?? 0),
    keptBytes: 0,
    beside: isBeside ? { path: place, fields: entry } : null,
    left: wasBeside && !isBeside ? place : null,
  };
}

/** The search fields that the record's own document has and must lose. */
function removedFields(before: Searched | undefined, own: StoredFields): Record<string, undefined> {
  if (before === undefined) return {};
  const names = [...searchFieldNames, ...before.vectorFields.split(' ').filter(Boolean)];
  return Object.fromEntries(names.filter((name) => !(name in own)).map((name) => [name, undefined]));
}
