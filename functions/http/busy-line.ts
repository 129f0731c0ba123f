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

/** `nextTurn` calls back when the event loop has looked for new requests. */
export function createBusyLine(nextTurn: (callback: () => void) => void = setImmediate): BusyLine {
  const line: (() => void)[] = [];
  const next = (): void => {
    const start = line.shift();
    if (line.length > 0) nextTurn(next);
    start?.();
  };
  return {
    get waiting() {
      return line.length;
    },
    turn() {
      return new Promise((resolve) => {
        line.push(resolve);
        if (line.length === 1) nextTurn(next);
      });
    },
  };
}
