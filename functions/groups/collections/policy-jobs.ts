import { boundTo } from '../../collections/bound-collections.ts';
import { checkCollectionName } from '../../collections/rules/policy.ts';
import type { CallContext, GroupHandlers } from '../../http/handler.ts';
import type { RecordAccessOperation } from '../../identity/record-access.ts';
import { verifiedCaller } from '../../identity/verified-caller.ts';
import { type AdmittedJob, admitJob } from '../../jobs/admit-job.ts';
import { ownerOf } from '../../jobs/job-family.ts';
import type { JobPlugin } from '../../jobs/job-plugin.ts';
import type { ProductTenant } from '../../jobs/job-scope.ts';
import type { Json } from '../../kernel/canonical-json.ts';
import { asReceipt, wireRun } from '../execution/library/wire-run.ts';
import type { RecordJobs } from '../records/library/job-facts.ts';
import { CREATE_HANDLER, DELETE_HANDLER } from './collection-jobs.ts';

type Handlers = GroupHandlers<'collections'>;

export function createCollection(own: RecordJobs, plugin: JobPlugin): Handlers['createCollection'] {
  return async ({ query, body, idempotencyKey }, context) => {
    const collection = checkCollectionName(body.name, '/name');
    const admitted = await admitCollectionJob(own, plugin, context, {
      operationId: 'createCollection',
      handlerId: CREATE_HANDLER,
      right: 'write',
      query,
      collection,
      payload: { policy: body as unknown as Json },
      idempotencyKey,
    });
    return answered(own, context, admitted);
  };
}

export function deleteCollection(own: RecordJobs, plugin: JobPlugin): Handlers['deleteCollection'] {
  return async ({ params, query, idempotencyKey }, context) => {
    const collection = checkCollectionName(params.collection, '/collection');
    const admitted = await admitCollectionJob(own, plugin, context, {
      operationId: 'deleteCollection',
      handlerId: DELETE_HANDLER,
      right: 'delete',
      query,
      collection,
      payload: { collection },
      isBound: true,
      frees: true,
      idempotencyKey,
    });
    return answered(own, context, admitted);
  };
}

interface CollectionJobRequest {
  readonly operationId: string;
  readonly handlerId: string;
  readonly frees?: boolean;
  readonly isBound?: boolean;
  readonly right: RecordAccessOperation;
  readonly query: ProductTenant;
  readonly collection: string;
  readonly payload: Json;
  readonly idempotencyKey: string | null;
}

function admitCollectionJob(
  { records, jobs, access }: RecordJobs,
  plugin: JobPlugin,
  { caller, correlationId }: CallContext,
  { right, query, collection, isBound = false, ...request }: CollectionJobRequest,
): Promise<AdmittedJob> {
  const space = access.spaceOf(caller, right, query.tenantId);
  return admitJob(jobs, plugin, {
    ...request,
    ...ownerOf(access, { caller, query }, space),
    ...(isBound ? { bind: () => boundTo(records, space, [collection]) } : {}),
    subject: collection,
    correlationId,
  });
}

/** The run as `GET /execution/runs/{id}` answers it; without the right to read it, no more than its receipt and status. */
async function answered(
  { jobs, executionAccess }: RecordJobs,
  { caller }: CallContext,
  { run, replayed, headers }: AdmittedJob,
) {
  const whole = !replayed || executionAccess === null || executionAccess.maySee(verifiedCaller(caller), run);
  const seen = whole ? run : asReceipt(run, caller.principal);
  return { status: 202 as const, body: await wireRun(jobs.runtime, seen, { replayed }), headers };
}
