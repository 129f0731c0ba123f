import { pathNames } from '../../contracts/generate/catalog.ts';
import { pascal } from './names.ts';
import type { NewOperation } from './request.ts';
import { unfinished } from './unfinished.ts';

/** What an operation that admits a job has beside a write: the owner of the job, a key, and the place of the job. */
export function jobEntryParts({ path }: NewOperation) {
  const owner = [
    ['productId', 'The product that the job belongs to. Required where the service has product policies.'],
    ['tenantId', 'The tenant that the job belongs to.'],
  ].filter(([name]) => !pathNames(path).includes(name ?? ''));
  return {
    parameters: [
      ...owner.map(([name, description]) => ({
        in: 'query',
        name,
        required: false,
        schema: { type: 'string', minLength: 1, maxLength: 160 },
        description,
      })),
      keyHeader(
        'Idempotency-Key',
        'Makes the request safe to repeat: 1 to 160 characters, as a text or as a structured field string. The same as the member `idempotencyKey` of the request, and equal to it where both are given.',
      ),
      keyHeader('X-Idempotency-Key', 'Another name for `Idempotency-Key`, read where that is absent.'),
    ],
    idempotency: {
      requirement: 'supported',
      location: {
        in: 'header',
        name: 'Idempotency-Key',
        aliases: ['X-Idempotency-Key'],
        pointer: '/idempotencyKey',
      },
    },
    headers: [
      { name: 'Location', description: 'Where the job is read: a relative reference.' },
      {
        name: 'Idempotency-Replayed',
        description: '`true` where an earlier request with the same key started the job; absent otherwise.',
        required: false,
      },
    ],
  };
}

function keyHeader(name: string, description: string): object {
  return {
    in: 'header',
    name,
    required: false,
    schema: { type: 'string', minLength: 1, maxLength: 512 },
    description,
  };
}

export const JOB_PROBLEMS = [
  'queue_full',
  'admission_rejected',
  'idempotency_conflict',
  'product_policy_violation',
  'handler_not_routed',
];

/** The request of an operation that admits a job: the key, and what the contributor adds. */
export const jobRequestStub = {
  description: unfinished('say what the model is'),
  type: 'object',
  additionalProperties: false,
  properties: {
    idempotencyKey: {
      description:
        'Makes the request safe to repeat; the same as the header `Idempotency-Key`, and equal to it where both are given. 1 to 160 UTF-16 units after surrounding white space is removed.',
      type: ['string', 'null'],
      maxLength: 400,
    },
  },
  examples: [{ idempotencyKey: 'example-1' }],
};

export function jobsPath(group: string): string {
  return `functions/groups/${group}/jobs.ts`;
}

/** The jobs of a group that has none yet. */
export function jobsStub({ group, id, job }: NewOperation): string {
  const name = pascal(group);
  return `import type { JobHandler, JobPlugin } from '../../jobs/job-plugin.ts';

export interface ${name}JobParts {
  /** The access rules of the group: throws where the caller may not do this to the space. */
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
