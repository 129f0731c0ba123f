import type { JobLayers } from '../../jobs/job-family.ts';
import type { JobFacts, JobHandler, JobPlugin } from '../../jobs/job-plugin.ts';
import { findRun } from '../../runs/read-runs.ts';
import { isTerminal } from '../../runs/run.ts';

export const CREATE_HANDLER = 'svc.collections.create';
export const DELETE_HANDLER = 'svc.collections.delete';

/** Failures of the store are retried; the refusal of a policy is not. */
const ATTEMPTS_MAX = 3;

/** The jobs that create and delete collections. Callers see the jobs as runs. */
export function collectionJobs({ records, access }: Pick<JobLayers, 'records' | 'access'>): JobPlugin {
  const common = { maxAttempts: ATTEMPTS_MAX, concurrencyKey: 'svc.collections.manage' };
  const judge =
    (operation: 'write' | 'delete') =>
    ({ caller, space }: JobFacts) =>
      access.judgeRecordJob({ caller, space, operation });
  const handlers: readonly JobHandler[] = [
    {
      ...common,
      handlerId: CREATE_HANDLER,
      displayName: 'Create a collection',
      judge: judge('write'),
      async run(context) {
        const { createByJob } = await import('./run-collection-job.ts');
        return createByJob(records, context);
      },
    },
    {
      ...common,
      handlerId: DELETE_HANDLER,
      displayName: 'Delete a collection',
      judge: judge('delete'),
      async run(context) {
        const { deleteByJob } = await import('./run-collection-job.ts');
        return deleteByJob(records, context);
      },
    },
  ];
  return {
    pluginId: 'svc.collections',
    name: 'Collections',
    family: 'collection-management',
    statusPath: '/execution/runs',
    handlers,
    async maintain({ runtime, isOver }) {
      const { sweepRetired } = await import('../../collections/retired.ts');
      const isRunActive = async (runId: string) => {
        const run = await findRun(runtime, runId);
        return run !== undefined && !isTerminal(run.status);
      };
      const { sweepStale } = await import('../../collections/reindex-sweep.ts');
      // A failure of one must not prevent the other.
      const [reindexed, swept] = await Promise.allSettled([
        sweepStale(records, isOver),
        sweepRetired(records, { isOver, isRunActive }),
      ]);
      if (reindexed.status === 'rejected') throw reindexed.reason;
      if (swept.status === 'rejected') throw swept.reason;
      return {
        retiredCollections: swept.value.collections,
        retiredRecords: swept.value.records,
        reindexedCollections: reindexed.value.collections,
        reindexedRecords: reindexed.value.records,
      };
    },
  };
}
