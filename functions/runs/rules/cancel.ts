import { ServiceError } from '../../kernel/errors.ts';
import { type Change, isTerminal, type Run } from '../run.ts';
import { cancelledResult, ended } from './due.ts';

const asked = { type: 'run.cancellation_requested', severity: 'warning' } as const;

/**
 * Cancels a queued or waiting run at once. A running one is marked: its holder sees the mark in its next answer, and
 * the run is cancelled when the holder completes it or its lease runs out. `null`: nothing to change, as the run has ended or its
 * job is decided.
 */
export function cancelRun(run: Run | undefined, now: number): Change | null {
  if (run === undefined) throw new ServiceError('not_found', 'There is no such run');
  if (isTerminal(run.status) || run.decided === true) return null;
  if (run.status === 'running') {
    return run.cancellationRequested
      ? null
      : { run: { ...run, cancellationRequested: true }, events: [asked] };
  }
  return ended({ ...run, cancellationRequested: true }, cancelledResult, now, [asked]);
}
