/** The clock, the random numbers and the retry budgets. Tests replace those of the machine. */
export interface World {
  /** Milliseconds of the Unix epoch. */
  readonly now: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Calls back once after `delayMs`. The returned function cancels the timer. */
  readonly after: (delayMs: number, callback: () => void) => () => void;
  /** The tokens for retries, by the origin of the server. All clients of the process share them if absent. */
  readonly retryTokens?: Map<string, number> | undefined;
}

export const machine: World & { readonly retryTokens: Map<string, number> } = {
  // Monotonic: it does not jump when the system clock is set.
  now: () => performance.timeOrigin + performance.now(),
  random: () => Math.random(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
  retryTokens: new Map(),
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
