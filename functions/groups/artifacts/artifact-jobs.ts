import { boundParts } from '../../collections/bound-collections.ts';
import type { RecordAccess } from '../../identity/record-access.ts';
import type { JobPlugin } from '../../jobs/job-plugin.ts';
import type { ObjectParts } from '../../objects/parts.ts';

export const INGEST_HANDLER = 'svc.artifacts.record-ingest';

/** Failures of the store are retried; the refusal of a record is not. */
const ATTEMPTS_MAX = 3;

/** The job that writes an object and its record. Callers see the job as a run. */
export function artifactJobs(objects: ObjectParts, access: RecordAccess): JobPlugin {
  return {
    pluginId: 'svc.artifacts',
    name: 'Artifacts',
    family: 'artifact-record-ingestion',
    statusPath: '/execution/runs',
    handlers: [
      {
        handlerId: INGEST_HANDLER,
        displayName: 'Ingest an artifact with its record',
        maxAttempts: ATTEMPTS_MAX,
        concurrencyKey: INGEST_HANDLER,
        judge: ({ caller, space }) => access.judgeRecordJob({ caller, space, operation: 'write' }),
        async run(context) {
          const { ingestByJob } = await import('./run-artifact-job.ts');
          const records = boundParts(objects.records, context.job);
          return ingestByJob({ ...objects, records }, context);
        },
      },
    ],
  };
}
