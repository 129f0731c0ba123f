import { boundTo } from '../../../collections/bound-collections.ts';
import { type AdmittedJob, admitJob } from '../../../jobs/admit-job.ts';
import { type JobCall, type JobFamily, ownerOf } from '../../../jobs/job-family.ts';
import { requestText, textPayload } from '../../../jobs/staged-payload.ts';
import { GRAPH_HANDLERS, type GraphJobFacts, type GraphJobKind, tagsOf } from './job-facts.ts';

export interface CheckedJob {
  readonly requested: number;
  readonly facts: Partial<GraphJobFacts>;
  /** The collection that the job reads beside its own. */
  readonly target?: string;
}

export interface GraphJobRequest extends JobCall {
  readonly operationId: string;
  readonly kind: GraphJobKind;
  readonly collection: string;
  /** The JSON text of the request. */
  readonly text: string;
  /** Checks the request, whose sender may start the job, and says what is known of its graph. Throws its refusal. */
  readonly check: () => CheckedJob | Promise<CheckedJob>;
}

/** Admits a job. A request that is too large for a run is staged. Throws `permission_denied` before it judges the request. */
export async function admitGraphJob(
  { records, jobs, plugin, payloads, access }: JobFamily,
  request: GraphJobRequest,
): Promise<AdmittedJob> {
  const { kind, caller, query, collection } = request;
  const space = access.spaceOf(caller, 'write', query.tenantId);
  const { requested, facts, target } = await request.check();
  const text = await requestText(payloads, request.text, 'graph', records.world.turns.of(space));
  return admitJob(jobs, plugin, {
    ...ownerOf(access, request, space),
    operationId: request.operationId,
    handlerId: GRAPH_HANDLERS[kind],
    subject: collection,
    bind: () => boundTo(records, space, target === undefined ? [collection] : [collection, target]),
    ...(await textPayload(payloads, space, { collection }, text)),
    requested,
    idempotencyKey: request.idempotencyKey,
    correlationId: request.correlationId,
    tags: { 'svc.graph.kind': kind, 'svc.collection': collection, ...tagsOf(facts) },
  });
}
