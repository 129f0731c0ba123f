import { boundParts } from '../../../collections/bound-collections.ts';
import type { JobContext, JobHandler, JobPlugin } from '../../../jobs/job-plugin.ts';
import type { RetrievalLayers } from './job-view.ts';

export const EVALUATION_HANDLER = 'svc.retrieval.evaluation.run';
export const COMPARISON_HANDLER = 'svc.retrieval.evaluation.compare';

/** The jobs that evaluate and compare. A worker loads the code of the handlers with the first job. */
export function retrievalJobs(layers: RetrievalLayers): JobPlugin {
  // The report contains records, so the caller that starts the job must also have the right to read.
  const judge: JobHandler['judge'] = ({ caller, space }) => {
    for (const operation of ['write', 'read'] as const)
      layers.access.judgeRecordJob({ caller, space, operation });
  };
  const run = async (context: JobContext) => {
    const { runRetrievalJob } = await import('./run-retrieval-job.ts');
    const records = boundParts(layers.retrieval.records, context.job);
    return runRetrievalJob({ ...layers, retrieval: { ...layers.retrieval, records } }, context);
  };
  return {
    pluginId: 'svc.retrieval.evaluation',
    name: 'Retrieval evaluation',
    family: 'retrieval-evaluation',
    statusPath: '/retrieval/evaluate/jobs',
    handlers: [
      { handlerId: EVALUATION_HANDLER, displayName: 'Evaluate retrievals', judge, run },
      { handlerId: COMPARISON_HANDLER, displayName: 'Compare ways to retrieve', judge, run },
    ],
  };
}
