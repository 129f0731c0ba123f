/** Why the signal of a handler is aborted where a caller has cancelled its run. No attempt follows. */
export const CANCELLED = new DOMException('The run was cancelled', 'AbortError');

export function isCancelled({ reason }: AbortSignal): boolean {
  return reason === CANCELLED;
}
