import { pathNames } from '../../contracts/generate/catalog.ts';
import { pascal } from './names.ts';
import type { NewOperation } from './request.ts';
import { unfinished } from './unfinished.ts';

/** The parts that an operation that admits a job has in addition to a write: the owner of the job, a key, and its address. */
export function jobEntryParts({ path }: NewOperation) {
  const inPath = pathNames(path);
  return {
    parameters: [
      ...(inPath.includes('productId') ? [] : ['jobProductId']),
      ...(inPath.includes('tenantId') ? [] : ['jobTenantId']),
      'jobIdempotencyKey',
      'idempotencyKeyAlias',
    ],
    headers: ['jobLocation', 'idempotencyReplayed'],
  };
}

export function jobsPath(group: string): string {
  return `functions/groups/${group}/jobs.ts`;
}

/** The jobs of a group that has none yet. */
export function jobsStub({ group, id, job }: NewOperation): string {
  const name = pascal(group);
  return `import type { JobHandler, JobPlugin } from '../../jobs/job-plugin.ts';

export interface ${name}JobParts {
  /** The access rules of the group: throws if the caller may not do this in the space. */
  readonly judge: JobHandler['judge'];
}

/** The durable work of the group. A handler imports its code when it runs. */
export function ${group}Jobs({ judge }: ${name}JobParts): JobPlugin {
  return {
    pluginId: 'svc.${group}',
    name: '${name}',
    family: '${(job ?? id).replaceAll('.', '-')}',
    statusPath: '/${group}/jobs',
    handlers: [
      {
        handlerId: '${job}',
        judge,
        run: () => Promise.reject(new Error('${unfinished(`do the work of ${job}, and set statusPath to the path of the operation that reads the job`)}')),
      },
    ],
  };
}
`;
}
