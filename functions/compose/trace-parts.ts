import { readsPerCallMax } from '../config/settings/records.ts';
import { createTraceParts, type TraceParts } from '../traces/parts.ts';
import { answerBytesMaxOf } from './answer-bytes.ts';
import type { GroupParts } from './group.ts';

const DAY_MS = 86_400_000;

/** The layer of traces over the store of the process. */
export function tracePartsOf({
  settings,
  store,
  world,
}: Pick<GroupParts, 'settings' | 'store' | 'world'>): TraceParts {
  const { retentionDays } = settings.traces;
  return createTraceParts({
    store: store.get,
    world,
    limits: {
      readsPerCallMax: readsPerCallMax(settings.records.readsPerCallMax, settings.canonicalStore.provider),
      longReadsMax: settings.records.longReadsMax,
      answerBytesMax: answerBytesMaxOf(settings),
      retentionMs: retentionDays === null ? null : retentionDays * DAY_MS,
    },
  });
}
