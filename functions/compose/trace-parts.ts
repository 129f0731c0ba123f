import { readsPerCallMax } from '../config/settings/records.ts';
import { createTraceParts, type TraceParts } from '../traces/parts.ts';
import { answerBytesMaxOf } from './answer-bytes.ts';
import { layer } from './layer.ts';
import { readLanesOf } from './read-lanes.ts';

const DAY_MS = 86_400_000;

/** The layer of traces over the store of the process. */
export const tracePartsOf = layer((parts): TraceParts => {
  const { settings, store, world } = parts;
  const { retentionDays } = settings.traces;
  return createTraceParts({
    store: store.get,
    world,
    lanes: readLanesOf(parts),
    limits: {
      readsPerCallMax: readsPerCallMax(settings.records.readsPerCallMax, settings.canonicalStore.provider),
      answerBytesMax: answerBytesMaxOf(settings),
      retentionMs: retentionDays === null ? null : retentionDays * DAY_MS,
    },
  });
});
