import { sha256InTurns } from '../kernel/turns.ts';
import { type RecordData, StoreError } from '../store/port.ts';
import type { ObjectParts } from './parts.ts';
import { checked, findObject } from './read-object.ts';
import { contentIn, infoIn, referenceIn } from './stored-object.ts';

/**
 * Verifies the stored bytes of an object whose record was read, and returns their number. Throws `corrupt` if the bytes are gone or
 * differ from those that were written.
 */
export async function verifyObject(parts: ObjectParts, space: string, record: RecordData): Promise<number> {
  const info = infoIn(record.head);
  const content = contentIn(record);
  if ('inline' in content) return checked(content.inline, info).byteLength;
  const bytes = await parts.place.get(content.reference, info.contentLength);
  if (bytes !== null && (await sha256InTurns(bytes)) === info.contentHash) return bytes.byteLength;
  const now = await findObject(parts, space, info, 'head');
  // The object was replaced or removed meanwhile.
  if (now === undefined || referenceIn(now.head) !== content.reference) return 0;
  throw new StoreError(
    'corrupt',
    bytes === null
      ? 'the bytes of an object are gone'
      : 'the bytes of an object differ from the written ones',
  );
}
