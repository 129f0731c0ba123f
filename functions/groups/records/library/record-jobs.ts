import { boundParts } from '../../../collections/bound-collections.ts';
import { hasActiveRun } from '../../../jobs/active-run.ts';
import type { JobLayers } from '../../../jobs/job-family.ts';
import type { JobFacts, JobHandler, JobPlugin, Maintenance } from '../../../jobs/job-plugin.ts';
import { runKey } from '../../../runs/records.ts';
import { PAYLOAD_TAG } from '../../../runs/run-job.ts';
import { BATCH_HANDLER, IMPORT_HANDLER } from './job-facts.ts';

/** The jobs that write records. A worker loads the code of the handlers with the first job. */
export function recordJobs(layers: JobLayers): JobPlugin {
  const judge = ({ caller, space }: JobFacts) =>
    layers.access.judgeRecordJob({ caller, space, operation: 'write' });
  const handler = (handlerId: string, displayName: string): JobHandler => ({
    handlerId,
    displayName,
    concurrencyKey: 'svc.records.store-write',
    judge,
    async run(context) {
      const { runRecordJob } = await import('./run-record-job.ts');
      return runRecordJob({ ...layers, records: boundParts(layers.records, context.job) }, context);
    },
  });
  return {
    pluginId: 'svc.records',
    name: 'Records',
    family: 'record-import',
    statusPath: '/record-import/jobs',
    handlers: [handler(BATCH_HANDLER, 'Write many records'), handler(IMPORT_HANDLER, 'Import a collection')],
    async maintain(maintenance) {
      const { sweepLeftovers } = await import('../../../collections/leftovers.ts');
      const leftovers = await sweepLeftovers(
        {
          parts: layers.records,
          payloads: layers.payloads,
          isPayloadUsed: (reference) => hasActiveRun(maintenance.runtime, PAYLOAD_TAG, reference),
          runExists: (runId) => runExists(maintenance, runId),
        },
        maintenance.isOver,
      );
      return { jobLeftovers: leftovers };
    },
  };
}

async function runExists({ runtime }: Maintenance, runId: string): Promise<boolean> {
  const store = await runtime.store();
  const keys = [{ key: runKey(runId) }];
  return (await store.query(runtime.scope, { by: 'keys', keys })).records.length > 0;
}
