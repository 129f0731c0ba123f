import type { ByteOwner } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';

/** Tag of a run whose payload is staged. Upkeep finds the run by this tag. */
export const PAYLOAD_TAG = 'svc.record-import.payload';

/** Makes a run a job: an operation of the service admitted it, and its handler is built in. */
export interface RunJob {
  /** The job views that show it, such as `record-import`. */
  readonly family: string;
  /** Path of these job views; the status of the job is at this path and its id. */
  readonly statusPath: string;
  /** The data that it works on. For callers of other spaces the job does not exist. */
  readonly space: string;
  /** The part of the space that it works on, such as a collection; `null` for the whole space. */
  readonly subject: string | null;
  /** The caller who requested the job, as verified then. */
  readonly caller: JobCaller;
  /** The number of items in the request; `null` for a request without items. */
  readonly requested: number | null;
  /** The collections that it names, as its admission saw them: where one is another by now, the job ends as without it. */
  readonly collections?: Readonly<Record<string, string>>;
}

export interface JobCaller {
  readonly kind: 'anonymous' | 'development' | 'api-key' | 'workload';
  readonly principal: string | null;
}

export interface JobOwner {
  readonly productId: string;
  readonly tenantId: string;
}

/** A run, or a request for one, as far as its owner is concerned. */
export interface OwnedRun {
  readonly scope: JobOwner | null;
  readonly job?: RunJob;
}

/**
 * The owner of a share of the capacity: the space of the job. The caller chooses the product of a job freely, and would
 * get a share for each product that it names.
 */
export function jobOwner({ space }: RunJob): string {
  return recordId('job-owner', space);
}

/**
 * The owner whose share of the execution slots a run uses; `null` for a run without product and tenant: no share limits
 * it.
 */
export function slotOwner({ scope, job }: OwnedRun): string | null {
  if (job !== undefined) return jobOwner(job);
  return scope === null ? null : ownerOf(scope);
}

interface Announced extends OwnedRun {
  readonly id: string;
  readonly handlerId: string;
  readonly attempt: number;
}

/** The members that every message about the run has. */
export function messageOf(run: Announced) {
  const { id: runId, handlerId, attempt } = run;
  return { runId, handlerId, owner: slotOwner(run), attempt };
}

/** The namespace of a job's idempotency key, beside its space: its product and tenant. */
export function keyOwner(scope: JobOwner | null, job: RunJob): string {
  return scope === null ? jobOwner(job) : ownerOf(scope);
}

/** The owner of the bytes of a run. The product does not count: a caller may name any. */
export function ownerOfRun({ scope, job }: OwnedRun): ByteOwner | null {
  if (job !== undefined) return { kind: 'spaces', name: job.space };
  return scope === null ? null : { kind: 'tenants', name: scope.tenantId };
}

function ownerOf({ productId, tenantId }: JobOwner): string {
  return recordId('job-owner', productId, tenantId);
}

/** The index value that finds the jobs of a space, or those of one subject in it. */
export function jobList(family: string, space: string, subject: string | null): string {
  return subject === null ? recordId('jobs', family, space) : recordId('jobs', family, space, subject);
}
