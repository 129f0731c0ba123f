import type { Clock } from '../kernel/world.ts';

/**
 * Requests of addresses that spend their permits faster than the window gives them. One of them starts in each turn of the
 * event loop, so that a request of another address waits for one of them at most, not for all that have arrived.
 */
export interface BusyLine {
  /** Settles when the request may start. */
  turn(): Promise<void>;
  /** How many requests wait. */
  readonly waiting: number;
}

/**
 * Turns are long when the process is overloaded: then the line of all requests decides, which knows the allowed wait of
 * each.
 */
const WAIT_MS_MAX = 250;

/** `nextTurn` calls back after the event loop has polled for new requests. */
export function createBusyLine(
  clock: Clock,
  nextTurn: (callback: () => void) => void = setImmediate,
): BusyLine {
  const line: { readonly start: () => void; readonly since: number }[] = [];
  const next = (): void => {
    const old = clock.now() - WAIT_MS_MAX;
    const young = line.findIndex(({ since }) => since > old);
    const started = line.splice(0, young < 0 ? line.length : Math.max(1, young));
    if (line.length > 0) nextTurn(next);
    for (const { start } of started) start();
  };
  return {
    get waiting() {
      return line.length;
    },
    turn() {
      return new Promise((resolve) => {
        line.push({ start: resolve, since: clock.now() });
        if (line.length === 1) nextTurn(next);
      });
    },
  };
}
