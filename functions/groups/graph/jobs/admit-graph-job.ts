import { boundTo } from '../../../collections/bound-collections.ts';
import type { RecordParts } from '../../../collections/parts.ts';
import { INLINE_BYTES_MAX, type StagedPayloads } from '../../../collections/staged-payloads.ts';
import type { Caller } from '../../../identity/caller.ts';
import type { RecordAccess } from '../../../identity/record-access.ts';
import { type AdmittedJob, admitJob, type Jobs } from '../../../jobs/admit-job.ts';
import type { JobPlugin } from '../../../jobs/job-plugin.ts';
import { jobScope, type ProductTenant } from '../../../jobs/job-scope.ts';
import { sha256 } from '../../../kernel/canonical-json.ts';
import { requestText } from '../../records/library/admit-record-job.ts';
import { stageText } from '../../records/library/staged-payload.ts';
import { type GraphJobFacts, tagsOf } from './job-facts.ts';
import { GRAPH_HANDLERS, type GraphJobKind } from './job-parts.ts';

/** What the operations that admit and show graph jobs work with. */
export interface GraphJobDependencies {
  readonly records: RecordParts;
  readonly jobs: Jobs;
  readonly plugin: JobPlugin;
  readonly payloads: StagedPayloads;
  readonly access: RecordAccess;
}

export interface CheckedJob {
  readonly requested: number;
  readonly facts: Partial<GraphJobFacts>;
  /** The collection that the job reads beside its own. */
  readonly target?: string;
}

export interface GraphJobRequest {
  readonly operationId: string;
  readonly kind: GraphJobKind;
  readonly caller: Caller;
  readonly query: ProductTenant;
  readonly collection: string;
  /** The JSON text of the request. */
  readonly text: string;
  /** Checks the request, whose sender may start the job, and says what is known of its graph. Throws its refusal. */
  readonly check: () => CheckedJob | Promise<CheckedJob>;
  readonly idempotencyKey: string | null;
  readonly correlationId: string;
}

/** Admits a job. A request that is too large for a run is staged. Throws `permission_denied` before it judges the request. */
export async function admitGraphJob(
  { records, jobs, plugin, payloads, access }: GraphJobDependencies,
  request: GraphJobRequest,
): Promise<AdmittedJob> {
  const { kind, caller, query, collection } = request;
  const space = access.spaceOf(caller, 'write', query.tenantId);
  const { requested, facts, target } = await request.check();
  const text = requestText(payloads, request.text, 'graph');
  const known = { collection };
  const isLarge = Buffer.byteLength(text) > INLINE_BYTES_MAX;
  return admitJob(jobs, plugin, {
    operationId: request.operationId,
    handlerId: GRAPH_HANDLERS[kind],
    caller,
    scope: jobScope(query, access.ownerOf(caller), caller.principal),
    space,
    subject: collection,
    bind: () => boundTo(records, space, target === undefined ? [collection] : [collection, target]),
    payload: isLarge ? known : { ...known, request: text },
    payloadHash: sha256(`{"collection":${JSON.stringify(collection)},"request":${text}}`),
    ...(isLarge ? { stage: () => stageText(payloads, space, known, text) } : {}),
    requested,
    idempotencyKey: request.idempotencyKey,
    correlationId: request.correlationId,
    tags: { 'svc.graph.kind': kind, 'svc.collection': collection, ...tagsOf(facts) },
  });
}
