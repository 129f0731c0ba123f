import type { AdmissionReceipt } from '../../contracts/generated/models.ts';
import type { Json } from '../kernel/canonical-json.ts';
import { elapsedMs, formatUtc } from '../kernel/timestamp.ts';
import { admissionOf } from '../runs/admission.ts';
import type { Run, RunStatus } from '../runs/run.ts';

type JobStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled' | 'rejected';

/** The members that the job views of all groups share. A group adds its own members and the result. */
export interface JobView {
  readonly admission: AdmissionReceipt;
  readonly id: string;
  readonly status: JobStatus;
  readonly requestHash: string;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly completedAt: string | null;
  readonly durationMs: number | null;
  readonly cancellationRequested: boolean;
  readonly requested: number;
  readonly attempted: number;
  readonly succeeded: number;
  readonly failed: number;
  /** From 0 to 1. */
  readonly progress: number;
  readonly failureClass: string | null;
  readonly error: string | null;
}

/** Users of a job see `waiting` as the pause between two attempts, and `timed_out` as a failure. */
const statuses: Readonly<Record<RunStatus, JobStatus>> = {
  queued: 'queued',
  waiting: 'queued',
  running: 'running',
  succeeded: 'succeeded',
  failed: 'failed',
  timed_out: 'failed',
  cancelled: 'cancelled',
  rejected: 'rejected',
};

/** `replayed` is true only in the answer to a repeated request. */
export function jobView(run: Run, replayed = false): JobView {
  const { completedAt, startedAt } = run;
  return {
    admission: admissionOf(run, replayed),
    id: run.id,
    status: statuses[run.status],
    requestHash: run.payloadHash,
    createdAt: formatUtc(run.createdAt),
    startedAt: startedAt === null ? null : formatUtc(startedAt),
    completedAt: completedAt === null ? null : formatUtc(completedAt),
    durationMs: completedAt === null ? null : elapsedMs(startedAt ?? completedAt, completedAt),
    cancellationRequested: run.cancellationRequested,
    ...countsOf(run),
    failureClass: run.failureClass,
    error: run.error,
  };
}

/** A job that succeeded without a report has processed all items of the request. */
function countsOf(run: Run) {
  const done = run.status === 'succeeded';
  const requested = run.requested ?? run.job?.requested ?? 0;
  return {
    requested,
    attempted: run.attempted ?? (done ? requested : 0),
    succeeded: run.succeeded ?? (done ? requested : 0),
    failed: run.failed ?? 0,
    progress: run.progress ?? (done ? 1 : 0),
  };
}

/** The run without its details, for a caller who may start or cancel jobs but not read. */
export function withoutDetails(run: Run): Run {
  return { ...run, statusDetails: null };
}

export function textOrNull(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

export function numberOrNull(value: Json | undefined): number | null {
  return typeof value === 'number' ? value : null;
}
