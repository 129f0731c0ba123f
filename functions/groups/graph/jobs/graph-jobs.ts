import { boundParts } from '../../../collections/bound-collections.ts';
import type { JobLayers } from '../../../jobs/job-family.ts';
import type { JobHandler, JobPlugin } from '../../../jobs/job-plugin.ts';
import type { GraphJobKind } from './job-view.ts';

export const GRAPH_HANDLERS: Readonly<Record<GraphJobKind, string>> = {
  import: 'svc.graph.import',
  inspect: 'svc.graph.inspect',
  doctor: 'svc.graph.doctor',
};

/** The jobs that import and examine graphs. A worker loads the code of the handlers with the first job. */
export function graphJobs(layers: JobLayers): JobPlugin {
  const handler = (handlerId: string, displayName: string): JobHandler => ({
    handlerId,
    displayName,
    judge: ({ caller, space }) => layers.access.judgeRecordJob({ caller, space, operation: 'write' }),
    async run(context) {
      const { runGraphJob } = await import('./run-graph-job.ts');
      return runGraphJob({ ...layers, records: boundParts(layers.records, context.job) }, context);
    },
  });
  return {
    pluginId: 'svc.graph',
    name: 'Graph',
    family: 'graph',
    statusPath: '/graph/jobs',
    handlers: [
      handler(GRAPH_HANDLERS.import, 'Import a graph'),
      handler(GRAPH_HANDLERS.inspect, 'Inspect a graph'),
      handler(GRAPH_HANDLERS.doctor, 'Examine a graph'),
    ],
  };
}
