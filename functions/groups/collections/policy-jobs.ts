import { boundTo } from '../../collections/bound-collections.ts';
import { checkCollectionName } from '../../collections/rules/policy.ts';
import type { GroupHandlers } from '../../http/handler.ts';
import type { RecordAccessOperation } from '../../identity/record-access.ts';
import { type AdmittedJob, admitJob } from '../../jobs/admit-job.ts';
import { type JobCall, jobCall, ofCall } from '../../jobs/job-family.ts';
import type { JobPlugin } from '../../jobs/job-plugin.ts';
import type { Json } from '../../kernel/canonical-json.ts';
import { acceptedRun } from '../execution/library/accepted-run.ts';
import type { RecordJobs } from '../records/library/job-facts.ts';
import { CREATE_HANDLER, DELETE_HANDLER } from './collection-jobs.ts';

type Handlers = GroupHandlers<'collections'>;

export function createCollection(own: RecordJobs, plugin: JobPlugin): Handlers['createCollection'] {
  return async (input, context) => {
    const { body } = input;
    const collection = checkCollectionName(body.name, '/name');
    const admitted = await admitCollectionJob(own, plugin, jobCall(input, context), {
      operationId: 'createCollection',
      handlerId: CREATE_HANDLER,
      right: 'write',
      collection,
      payload: { policy: body as unknown as Json },
    });
    return acceptedRun(own, context.caller, admitted);
  };
}

export function deleteCollection(own: RecordJobs, plugin: JobPlugin): Handlers['deleteCollection'] {
  return async (input, context) => {
    const collection = checkCollectionName(input.params.collection, '/collection');
    const admitted = await admitCollectionJob(own, plugin, jobCall(input, context), {
      operationId: 'deleteCollection',
      handlerId: DELETE_HANDLER,
      right: 'delete',
      collection,
      payload: { collection },
      isBound: true,
      frees: true,
    });
    return acceptedRun(own, context.caller, admitted);
  };
}

interface CollectionJobRequest {
  readonly operationId: string;
  readonly handlerId: string;
  readonly frees?: boolean;
  readonly isBound?: boolean;
  readonly right: RecordAccessOperation;
  readonly collection: string;
  readonly payload: Json;
}

function admitCollectionJob(
  { records, jobs, access }: RecordJobs,
  plugin: JobPlugin,
  call: JobCall,
  { right, collection, isBound = false, ...request }: CollectionJobRequest,
): Promise<AdmittedJob> {
  const space = access.spaceOf(call.caller, right, call.query.tenantId);
  return admitJob(jobs, plugin, {
    ...request,
    ...ofCall(access, call, space),
    ...(isBound ? { bind: () => boundTo(records, space, [collection]) } : {}),
    subject: collection,
  });
}
