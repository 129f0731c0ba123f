/** The clock and the random numbers. Tests replace those of the machine. */
export interface World {
  /** Milliseconds of the Unix epoch. */
  readonly now: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Calls back once after `delayMs`. The returned function cancels the timer. */
  readonly after: (delayMs: number, callback: () => void) => () => void;
}

export const machine: World = {
  // Monotonic: it does not jump when the system clock is set.
  now: () => performance.timeOrigin + performance.now(),
  random: () => Math.random(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Waits for the delay, or until `signal` is aborted; resolves in both cases. */
export function pause(world: World, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = world.after(delayMs, done);
    signal.addEventListener('abort', done);
  });
}
