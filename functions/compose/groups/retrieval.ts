import type { GroupModule } from '../group.ts';
import { recordAccessOf, rerankAccessOf } from '../identity.ts';
import { pageTokensOf } from '../page-tokens.ts';

export const group: GroupModule = {
  bytesMax: 729_000,
  async jobs(parts) {
    const [{ retrievalJobs }, { retrievalJobsPartsOf }] = await Promise.all([
      import('../../groups/retrieval/jobs/retrieval-jobs.ts'),
      import('../retrieval-jobs.ts'),
    ]);
    return [retrievalJobs(retrievalJobsPartsOf(parts))];
  },
  async load(parts) {
    const { settings } = parts;
    const [
      { retrievalHandlers },
      { retrievalPartsOf },
      { retrievalJobDependenciesOf },
      { payloadLimitOf },
      { evaluationLanesOf },
    ] = await Promise.all([
      import('../../groups/retrieval/handlers.ts'),
      import('../retrieval-parts.ts'),
      import('../retrieval-jobs.ts'),
      import('../record-jobs.ts'),
      import('../read-lanes.ts'),
    ]);
    const limit = payloadLimitOf(parts);
    const bodyLimits = { startRetrievalEvaluationJob: limit, startRetrievalEvaluationComparisonJob: limit };
    const own = {
      retrieval: retrievalPartsOf(parts),
      evaluations: evaluationLanesOf(parts),
      retrievalJobs: await retrievalJobDependenciesOf(parts),
      access: recordAccessOf(settings),
      rerankAccess: rerankAccessOf(settings),
      pageTokens: pageTokensOf(parts),
    };
    return { handlers: retrievalHandlers(own), extra: [], bodyLimits };
  },
};
