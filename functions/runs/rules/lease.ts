import { timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../../kernel/errors.ts';
import type { Change, Run, RunLease, TraceDraft } from '../run.ts';
import { leaseIsOver } from './due.ts';

/** What a worker proves with every call after the first: which run, that it is the one that was given it, and who it is. */
export interface LeaseProof {
  readonly tokenHash: string;
  readonly workerId: string;
  /** Whether whoever proves it may have a run like this one at all; absent where nobody has to be asked. */
  readonly mayHold?: (run: Run) => boolean;
}

export interface LeaseGrant extends Omit<RunLease, 'acquiredAt' | 'expiresAt'> {
  readonly ttlMs: number;
  readonly concurrencyKey: string | null;
}

/** Gives a queued run to a worker; `null` where it is not queued. Attempts count from here, so that a run that kills its workers ends. */
export function leaseRun(run: Run, grant: LeaseGrant, now: number): Change | null {
  if (run.status !== 'queued') return null;
  const { ttlMs, concurrencyKey, kind, workerId, tokenHash } = grant;
  const attempt = run.attempt + 1;
  const next: Run = {
    ...run,
    status: 'running',
    attempt,
    startedAt: run.startedAt ?? Math.max(now, run.updatedAt),
    completedAt: null,
    lease: { kind, workerId, tokenHash, acquiredAt: now, expiresAt: now + ttlMs },
    endedLease: null,
    concurrencyKey,
  };
  const events: TraceDraft[] = [
    { type: 'lease.acquired', workerId },
    { type: 'run.started', workerId },
  ];
  return { run: next, events };
}

/** Moves the expiry of an active lease, also to an earlier moment. */
export function renewLease(run: Run, proof: LeaseProof, ttlMs: number, now: number): Run {
  const lease = activeLease(run, proof, now);
  return { ...run, lease: { ...lease, expiresAt: now + ttlMs } };
}

/**
 * The lease that the proof is for, if it still holds. Throws `lease_stale` for the token of another lease and
 * `lease_not_active` for the run's last lease once it has ended or run out.
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

/** A token that somebody else came by is worth nothing to them, whatever it is the token of. */
export function mayHold(run: Run, proof: LeaseProof): boolean {
  return proof.mayHold === undefined || proof.mayHold(run);
}

/** In constant time, so that a guess learns nothing from how long the refusal took. */
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
