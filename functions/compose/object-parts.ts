import { bytesPlaceOf } from '../objects/bytes-place.ts';
import { createObjectParts, type ObjectParts, objectLimits } from '../objects/parts.ts';
import { blobsOf } from './blobs.ts';
import type { GroupParts } from './group.ts';
import { recordPartsOf } from './record-parts.ts';

const shared = new WeakMap<GroupParts['store'], ObjectParts>();

/** The layer of objects over the store and the blob store of the process. One for all groups: they share the bound of bytes. */
export function objectPartsOf(parts: Pick<GroupParts, 'settings' | 'store' | 'world'>): ObjectParts {
  const { settings, store, world } = parts;
  const made =
    shared.get(store) ??
    createObjectParts({
      records: recordPartsOf(parts),
      place: bytesPlaceOf(store.get, blobsOf(settings, world)),
      limits: objectLimits(settings.server.messageBytesMax, settings.objects.bytesInFlightMax),
    });
  shared.set(store, made);
  return made;
}
