import { OBJECTS } from '../collections/store-collections.ts';
import type { Head, RecordData, RecordKey } from '../store/port.ts';
import { StoreError } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';
import type { ObjectMetadata } from './rules/metadata.ts';
import type { ObjectInfo } from './rules/object-info.ts';
import type { ObjectPlace } from './rules/object-name.ts';

/** The largest content that is stored in the record of the object: 32 KiB. */
export const OBJECT_INLINE_BYTES_MAX = 32 * 1024;

/** Bytes outside the record that no object names any more. They count until upkeep removes them. */
export interface LostBytes {
  readonly reference: string;
  readonly bytes: number;
}

/** The bytes of a stored object, or the reference to them. */
export type StoredContent = { readonly inline: Uint8Array } | { readonly reference: string };

export function objectKey({ container, key }: ObjectPlace): RecordKey {
  return { collection: OBJECTS.name, id: recordId('object', container, key) };
}

export function objectRecord(info: ObjectInfo, content: StoredContent): RecordData {
  const { container, key, contentType, contentLength, contentHash, metadata, updatedAt } = info;
  const named = Object.keys(metadata).length > 0;
  return {
    key: objectKey(info),
    head: {
      container,
      key,
      bytes: contentLength,
      hash: contentHash,
      updatedAt,
      ...(contentType === null ? {} : { contentType }),
      ...(named ? { metadata: JSON.stringify(metadata) } : {}),
      ...('reference' in content ? { reference: content.reference } : {}),
    },
    body: 'inline' in content ? JSON.stringify(Buffer.from(content.inline).toString('base64')) : null,
    listing: { group: container, id: key, hidden: false, indexes: {} },
    ...('reference' in content ? { keptOutside: { bytes: contentLength, isNew: false } } : {}),
  };
}

/** Throws `corrupt`. */
export function infoIn(head: Head): ObjectInfo {
  const { container, key, bytes, hash, updatedAt, contentType, metadata } = head;
  if (typeof container !== 'string' || typeof key !== 'string' || typeof bytes !== 'number')
    throw new StoreError('corrupt', 'an object has no name or size');
  if (typeof hash !== 'string' || typeof updatedAt !== 'string')
    throw new StoreError('corrupt', 'an object has no hash or time');
  return {
    container,
    key,
    contentType: typeof contentType === 'string' ? contentType : null,
    contentLength: bytes,
    etag: hash,
    contentHash: hash,
    // The stored metadata has the members that `objectRecord` wrote.
    metadata: typeof metadata === 'string' ? (JSON.parse(metadata) as ObjectMetadata) : {},
    updatedAt,
  };
}

/** The reference of the bytes outside the record; `null` if the record holds them. */
export function referenceIn(head: Head): string | null {
  const { reference } = head;
  return typeof reference === 'string' ? reference : null;
}

/** The bytes outside the record that remain after the object is removed; `null` if its bytes are in its record. */
export function lostWith(head: Head): LostBytes | null {
  const reference = referenceIn(head);
  return reference === null ? null : { reference, bytes: Number(head['bytes']) };
}

/** The record was read with its body. Throws `corrupt`. */
export function contentIn({ head, body }: RecordData): StoredContent {
  const reference = referenceIn(head);
  if (reference !== null) return { reference };
  if (typeof body !== 'string') throw new StoreError('corrupt', 'an object has no bytes');
  return { inline: Buffer.from(JSON.parse(body) as string, 'base64') };
}
