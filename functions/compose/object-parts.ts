import { bytesPlaceOf } from '../objects/bytes-place.ts';
import { createObjectParts, type ObjectParts, objectLimits } from '../objects/parts.ts';
import { blobsOf } from './blobs.ts';
import type { GroupParts } from './group.ts';
import { recordPartsOf } from './record-parts.ts';

/** The layer of objects over the store and the blob store of the process. */
export function objectPartsOf(parts: Pick<GroupParts, 'settings' | 'store' | 'world'>): ObjectParts {
  const { settings, store, world } = parts;
  return createObjectParts({
    records: recordPartsOf(parts),
    place: bytesPlaceOf(store.get, blobsOf(settings, world)),
    limits: objectLimits(settings.server.messageBytesMax, settings.objects.bytesInFlightMax),
  });
}
