import { PageTokens } from '../../kernel/page-token.ts';
import { sharedSecret } from '../../store/secret.ts';
import type { GroupModule } from '../group.ts';
import { recordAccessOf, rerankAccessOf } from '../identity.ts';

export const group: GroupModule = {
  bytesMax: 710_000,
  async jobs(parts) {
    const [{ retrievalJobs }, { retrievalJobsPartsOf }] = await Promise.all([
      import('../../groups/retrieval/jobs/retrieval-jobs.ts'),
      import('../retrieval-jobs.ts'),
    ]);
    return [retrievalJobs(retrievalJobsPartsOf(parts))];
  },
  async load(parts) {
    const { settings, store, world } = parts;
    const [
      { retrievalHandlers },
      { retrievalPartsOf },
      { retrievalJobDependenciesOf },
      { payloadLimitOf },
      { ReadLanes },
    ] = await Promise.all([
      import('../../groups/retrieval/handlers.ts'),
      import('../retrieval-parts.ts'),
      import('../retrieval-jobs.ts'),
      import('../record-jobs.ts'),
      import('../../collections/read-lanes.ts'),
    ]);
    const limit = payloadLimitOf(parts);
    const bodyLimits = { startRetrievalEvaluationJob: limit, startRetrievalEvaluationComparisonJob: limit };
    const { longReadsMax } = settings.records;
    const own = {
      retrieval: retrievalPartsOf(parts),
      evaluations: new ReadLanes({ timers: world.timers, longReadsMax }),
      retrievalJobs: await retrievalJobDependenciesOf(parts),
      access: recordAccessOf(settings),
      rerankAccess: rerankAccessOf(settings),
      pageTokens: new PageTokens(sharedSecret(store.get, world.random, 'page-tokens')),
    };
    return { handlers: retrievalHandlers(own), extra: [], bodyLimits };
  },
};
