import { rejectionProblem } from './admission.ts';
import type { Reservation } from './engine.ts';
import type { StartRequest } from './rules/start.ts';
import type { Runtime } from './runtime.ts';
import { type Started, startRun } from './start-run.ts';

/** Reserves room in this process for a run of the handler; `null` where there is none. */
export type Reserve = (handlerId: string) => Reservation | null;

/**
 * Admits a run, and executes it at once where this process has room for it: the transaction that admits it leases it too.
 * Throws the problem of a run that was rejected; `startable` are the handlers that the caller may start.
 */
export async function startHere(
  runtime: Runtime,
  reserve: Reserve | undefined,
  request: StartRequest,
  now: number,
  startable?: () => readonly string[],
): Promise<Started> {
  const scheduled = request.scheduledAt !== null && request.scheduledAt > now;
  const reservation = scheduled ? null : (reserve?.(request.handlerId) ?? null);
  let taken = false;
  try {
    const started = await startRun(runtime, request, reservation?.grant ?? null);
    const { run, replayed } = started;
    const problem = rejectionProblem(run, replayed, startable);
    if (problem !== null) throw problem;
    if (!replayed && run.status === 'running') {
      taken = true;
      reservation?.execute(run);
    }
    return started;
  } finally {
    if (!taken) reservation?.release();
  }
}
