import type { RunOwner } from '../queue/port.ts';
import { rejectionProblem } from './admission.ts';
import type { Reservation } from './engine.ts';
import type { StartRequest } from './rules/start.ts';
import type { Run } from './run.ts';
import { slotOwner } from './run-job.ts';
import type { Runtime } from './runtime.ts';
import { startQuietly } from './start-quiet.ts';
import { type Started, startRun } from './start-run.ts';

/** Reserves a slot in this process for a run of the handler and the owner; `null` when the owner may have none. */
export type ReserveSlot = (handlerId: string, owner: RunOwner) => Reservation | null;

/** How a refusal is worded for the caller. */
export interface StartView {
  /** The handlers that the caller may start. */
  readonly startable?: () => readonly string[];
  /** The run in its form for the caller, when it was started before. */
  readonly seen?: (run: Run) => Run;
}

/**
 * Admits a run, and executes it at once where this process has room for it: the transaction that admits it leases it too.
 * Throws the problem of a run that was rejected.
 */
export async function startHere(
  runtime: Runtime,
  reserve: ReserveSlot | undefined,
  request: StartRequest,
  now: number,
  { startable, seen = (run) => run }: StartView = {},
): Promise<Started> {
  const scheduled = request.scheduledAt !== null && request.scheduledAt > now;
  // A run with a key may have to wait for a place.
  const reservation =
    scheduled || request.startKey !== undefined
      ? null
      : (reserve?.(request.handlerId, slotOwner(request)) ?? null);
  let taken = false;
  try {
    const started =
      request.quiet === undefined
        ? await startRun(runtime, request, reservation?.grant ?? null)
        : await startQuietly(runtime, request, now);
    const { replayed, replaced } = started;
    const run = replayed || replaced === true ? seen(started.run) : started.run;
    const problem = rejectionProblem(run, replayed, { startable, remedy: runtime.workerHandlers.advice });
    if (problem !== null) throw problem;
    if (!replayed && run.status === 'running') {
      taken = true;
      reservation?.execute(run);
    }
    return { run, replayed, ...(replaced === true ? { replaced } : {}) };
  } finally {
    if (!taken) reservation?.release();
  }
}
