import { bytesPlaceOf } from '../objects/bytes-place.ts';
import { createObjectParts, objectLimits } from '../objects/parts.ts';
import { processBlobsOf } from './blobs.ts';
import { layer } from './layer.ts';
import { recordPartsOf } from './record-parts.ts';

/** The layer of objects over the store and the blob store of the process. */
export const objectPartsOf = layer((parts) => {
  const { settings, store } = parts;
  return createObjectParts({
    records: recordPartsOf(parts),
    place: bytesPlaceOf(store.get, processBlobsOf(parts)),
    limits: objectLimits(settings.server.messageBytesMax, settings.objects.bytesInFlightMax),
  });
});
