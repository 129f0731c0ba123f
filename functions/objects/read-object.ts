import { spaceScope } from '../collections/store-collections.ts';
import { sha256 } from '../kernel/canonical-json.ts';
import { sha256InTurns } from '../kernel/turns.ts';
import { type RecordData, StoreError } from '../store/port.ts';
import type { ByteLease } from './bytes-in-flight.ts';
import type { ObjectParts } from './parts.ts';
import type { ObjectInfo } from './rules/object-info.ts';
import type { ObjectPlace } from './rules/object-name.ts';
import { contentIn, infoIn, objectKey, referenceIn } from './stored-object.ts';

/** An object may be replaced while its bytes are fetched; so many times it is read again. */
const TRIES_MAX = 8;

export interface ReadObject {
  readonly info: ObjectInfo;
  /** `null` where the caller wanted none. */
  readonly bytes: Uint8Array | null;
}

/** What is known of the object; `null` where there is none. */
export async function readObjectInfo(
  parts: ObjectParts,
  space: string,
  place: ObjectPlace,
): Promise<ObjectInfo | null> {
  const record = await findObject(parts, space, place, 'head');
  return record === undefined ? null : infoIn(record.head);
}

/**
 * The object with its bytes, which the lease counts; `null` where there is none. The bytes are fetched only where `wants` says so
 * of what is known: not for `HEAD`, nor for a caller that has them.
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
    // The object that took its place may be larger.
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
function checked(bytes: Uint8Array, { contentHash, contentLength }: ObjectInfo): Uint8Array {
  if (bytes.byteLength === contentLength && sha256(bytes) === contentHash) return bytes;
  throw new StoreError('corrupt', 'the bytes of an object are not those that were put');
}

/** The bytes of an object whose record was read, as they lie now. Throws `corrupt` for others than those that were put. */
export async function verifyObject(parts: ObjectParts, space: string, record: RecordData): Promise<number> {
  const info = infoIn(record.head);
  const content = contentIn(record);
  if ('inline' in content) return checked(content.inline, info).byteLength;
  const bytes = await parts.place.get(content.reference, info.contentLength);
  if (bytes !== null && (await sha256InTurns(bytes)) === info.contentHash) return bytes.byteLength;
  const now = await findObject(parts, space, info, 'head');
  // It was replaced or removed meanwhile.
  if (now === undefined || referenceIn(now.head) !== content.reference) return 0;
  throw new StoreError(
    'corrupt',
    bytes === null ? 'the bytes of an object are gone' : 'the bytes of an object are not those that were put',
  );
}

async function findObject(
  { records: { store } }: ObjectParts,
  space: string,
  place: ObjectPlace,
  view: 'head' | 'body',
): Promise<RecordData | undefined> {
  const keys = [{ key: objectKey(place), view }];
  return (await (await store()).query(spaceScope(space), { by: 'keys', keys })).records[0];
}
