import type { StopKind } from './step-port.ts';

/** Why the signal of a handler is aborted where a caller has cancelled its run. No attempt follows. */
export const CANCELLED = new DOMException('The run was cancelled', 'AbortError');

/** The attempt is over. One for all executions: creating one costs as much as a statement of the database. */
export const OVER = new DOMException('The attempt is over', 'AbortError');

export function isCancelled({ reason }: AbortSignal): boolean {
  return reason === CANCELLED;
}

export function stopKindOf({ reason }: AbortSignal): StopKind {
  if (reason === CANCELLED) return 'cancelled';
  return reason === OVER ? 'lease_lost' : 'stopping';
}
