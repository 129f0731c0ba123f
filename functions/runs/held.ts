import { ServiceError } from '../kernel/errors.ts';
import { type LeaseProof, staleLease } from './rules/lease.ts';
import type { Run } from './run.ts';

/** A run with the proof of its lease, which fences every write of the lease holder. */
export interface Held extends LeaseProof {
  readonly runId: string;
}

/** The run, after a rule has accepted its lease. */
export function present(run: Run | undefined): Run {
  if (run === undefined) throw staleLease();
  return run;
}

export function missingRun(): ServiceError {
  return new ServiceError('not_found', 'There is no such run');
}
