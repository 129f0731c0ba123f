import type { JsonObject } from '../../kernel/canonical-json.ts';
import type { Change, Progress, Run, StoredValue } from '../run.ts';
import { activeLease, type LeaseProof } from './lease.ts';

/** A progress report. Absent members keep their value. */
export interface Report extends Partial<Progress> {
  readonly failureClass?: string;
  readonly error?: string;
  readonly result?: StoredValue;
  readonly statusDetails?: JsonObject;
}

export function reportProgress(run: Run | undefined, proof: LeaseProof, report: Report, now: number): Change {
  const lease = activeLease(run, proof, now);
  const held = run as Run;
  const event = {
    type: 'run.status',
    message: report.currentStep ?? null,
    details: report.statusDetails ?? null,
    workerId: lease.workerId,
  };
  return { run: { ...held, ...report }, events: [event] };
}
