/** Time and chance. The client takes them from the machine unless it is handed others, as tests do. */
export interface World {
  /** Milliseconds of the Unix epoch. */
  readonly now: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Calls back once, `delayMs` from now; what it gives cancels that. */
  readonly after: (delayMs: number, callback: () => void) => () => void;
}

export const machine: World = {
  // Does not jump when somebody sets the clock.
  now: () => performance.timeOrigin + performance.now(),
  random: () => Math.random(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Waits; ends at once, and as usual, where `signal` is aborted. */
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
