import { timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../../kernel/errors.ts';
import type { Change, Run, RunLease, RunTraceDraft } from '../run.ts';
import { withoutAnswers } from './answered.ts';
import { leaseIsOver } from './due.ts';
import { momentIn } from './moment.ts';

/** The proof that a worker holds the lease: the token's hash and the worker's id. */
export interface LeaseProof {
  readonly tokenHash: string;
  readonly workerId: string;
  /** Whether the caller may hold a run like this one; absent if any may. */
  readonly mayHold?: (run: Run) => boolean;
}

export interface RunLeaseGrant extends Omit<RunLease, 'acquiredAt' | 'expiresAt'> {
  readonly ttlMs: number;
  readonly concurrencyKey: string | null;
  /** Version of the holder's handler; absent or `null` if it names none. */
  readonly handlerVersion?: string | null;
}

/**
 * Leases a queued run; `null` if it is not queued. Attempts are counted here, so that a run that kills its workers
 * ends.
 */
export function leaseRun(run: Run, grant: RunLeaseGrant, now: number): Change | null {
  if (run.status !== 'queued') return null;
  const { ttlMs, concurrencyKey, kind, workerId, tokenHash } = grant;
  const attempt = run.attempt + 1;
  // The version of an earlier holder says nothing about this one.
  const { handlerVersion: _earlier, waitsForKey: _over, ...rest } = withoutAnswers(run);
  const handlerVersion = grant.handlerVersion ?? null;
  const next: Run = {
    ...rest,
    ...(handlerVersion === null ? {} : { handlerVersion }),
    status: 'running',
    attempt,
    startedAt: run.startedAt ?? momentIn(run, now),
    completedAt: null,
    lease: {
      kind,
      workerId,
      tokenHash,
      acquiredAt: momentIn(run, now),
      expiresAt: leaseEnd(run, ttlMs, now),
    },
    endedLease: null,
    concurrencyKey,
  };
  const events: RunTraceDraft[] = [
    { type: 'lease.acquired', workerId },
    { type: 'run.started', workerId },
  ];
  return { run: next, events };
}

/** Moves the expiry of an active lease, later or earlier. */
export function renewLease(run: Run, proof: LeaseProof, ttlMs: number, now: number): Run {
  const lease = activeLease(run, proof, now);
  return { ...run, lease: { ...lease, expiresAt: leaseEnd(run, ttlMs, now) } };
}

/** No lease outlasts the time to undo after a cooperative cancellation. */
function leaseEnd({ cancelBy }: Run, ttlMs: number, now: number): number {
  return Math.min(now + ttlMs, cancelBy ?? Number.POSITIVE_INFINITY);
}

/**
 * Returns the active lease that the proof is for. Throws `lease_stale` for the token of another lease and
 * `lease_not_active` for the run's last lease after its end.
 */
export function activeLease(run: Run | undefined, proof: LeaseProof, now: number): RunLease {
  if (run === undefined || !mayHold(run, proof)) throw staleLease();
  const { lease } = run;
  if (lease !== null && isProofOf(lease, proof)) {
    if (run.status === 'running' && !leaseIsOver(run, now)) return lease;
    throw lostLease(run);
  }
  if (run.endedLease !== null && isProofOf(run.endedLease, proof)) throw lostLease(run);
  throw staleLease();
}

/** A token is valid for its own worker only. */
export function mayHold(run: Run, proof: LeaseProof): boolean {
  return proof.mayHold === undefined || proof.mayHold(run);
}

/** In constant time, so that the duration reveals nothing about the token. */
export function isProofOf(held: LeaseProof, proof: LeaseProof): boolean {
  const sameWorker = held.workerId === proof.workerId;
  const left = Buffer.from(held.tokenHash);
  const right = Buffer.from(proof.tokenHash);
  return left.length === right.length && timingSafeEqual(left, right) && sameWorker;
}

function lostLease(run: Run): ServiceError {
  return new ServiceError('lease_not_active', 'The lease is no longer active', {
    how: run.endedLease?.how ?? 'expired',
  });
}

export function staleLease(): ServiceError {
  return new ServiceError('lease_stale', 'The lease is not the one that holds this run');
}
