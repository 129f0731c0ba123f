import type { GroupModule } from '../group.ts';
import { recordAccessOf } from '../identity.ts';

export const group: GroupModule = {
  bytesMax: 160_000,
  async collections() {
    return (await import('../../traces/store-collections.ts')).traceCollections;
  },
  async upkeep(parts) {
    const [{ removeOldTraces }, { tracePartsOf }] = await Promise.all([
      import('../../traces/retention.ts'),
      import('../trace-parts.ts'),
    ]);
    const traces = tracePartsOf(parts);
    return async (isOver) => ({ removedTraces: await removeOldTraces(traces, isOver) });
  },
  async load(parts) {
    const [{ tracesHandlers }, { tracePartsOf }] = await Promise.all([
      import('../../groups/traces/handlers.ts'),
      import('../trace-parts.ts'),
    ]);
    const handlers = tracesHandlers(tracePartsOf(parts), recordAccessOf(parts.settings));
    return { handlers, extra: [] };
  },
};
