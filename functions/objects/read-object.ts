import { spaceScope } from '../collections/store-collections.ts';
import { sha256 } from '../kernel/canonical-json.ts';
import { type RecordData, StoreError } from '../store/port.ts';
import type { ByteLease } from './object-memory.ts';
import type { ObjectParts } from './parts.ts';
import type { ObjectInfo } from './rules/object-info.ts';
import type { ObjectPlace } from './rules/object-name.ts';
import { contentIn, infoIn, objectKey } from './stored-object.ts';

/** An object may be replaced while its bytes are fetched: the most reads of one call. */
const TRIES_MAX = 8;

export interface ReadObject {
  readonly info: ObjectInfo;
  /** `null` where the caller wanted none. */
  readonly bytes: Uint8Array | null;
}

/**
 * The object with its bytes, which the lease counts; `null` if it does not exist. The bytes are fetched only if `wants` returns true
 * for its metadata: not for `HEAD`, nor for a caller that has them.
 */
export async function readObject(
  parts: ObjectParts,
  space: string,
  place: ObjectPlace,
  { wants, lease }: { readonly wants: (info: ObjectInfo) => boolean; readonly lease: ByteLease },
): Promise<ReadObject | null> {
  const seen = new Set<string>();
  let counted = 0;
  while (seen.size < TRIES_MAX) {
    const record = await findObject(parts, space, place, 'body');
    if (record === undefined) return null;
    const info = infoIn(record.head);
    if (!wants(info)) return { info, bytes: null };
    const content = contentIn(record);
    // The object that replaced it may be larger.
    if (info.contentLength > counted) lease.take(info.contentLength - counted);
    counted = Math.max(counted, info.contentLength);
    if ('inline' in content) return { info, bytes: checked(content.inline, info) };
    const { reference } = content;
    const bytes = await parts.place.get(reference, info.contentLength);
    if (bytes !== null) return { info, bytes };
    if (seen.has(reference)) throw new StoreError('corrupt', 'the bytes of an object are gone');
    seen.add(reference);
  }
  throw new StoreError('contention', 'the object is replaced again and again');
}

/** Bytes outside of the record are checked where they are fetched. Throws `corrupt`. */
export function checked(bytes: Uint8Array, { contentHash, contentLength }: ObjectInfo): Uint8Array {
  if (bytes.byteLength === contentLength && sha256(bytes) === contentHash) return bytes;
  throw new StoreError('corrupt', 'the bytes of an object differ from the written ones');
}

export async function findObject(
  { records: { store } }: ObjectParts,
  space: string,
  place: ObjectPlace,
  view: 'head' | 'body',
): Promise<RecordData | undefined> {
  const keys = [{ key: objectKey(place), view }];
  return (await (await store()).query(spaceScope(space), { by: 'keys', keys })).records[0];
}
