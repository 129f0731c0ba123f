/** The clock, timers and random numbers of the machine, passed in so that a test controls them. */
export interface DispatcherWorld {
  /** Milliseconds since an arbitrary start. */
  now(): number;
  /** Calls back once after `delayMs`; the returned function cancels it. */
  after(delayMs: number, callback: () => void): () => void;
  /** From 0 up to, not including, 1. Spreads retries; it protects no secret. */
  random(): number;
}

/** Settles after `delayMs`, or as soon as `signal` is aborted. */
export function pause(world: DispatcherWorld, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = world.after(delayMs, done);
    signal.addEventListener('abort', done);
  });
}

/** Settles when the promise settles, or after `delayMs`. */
export function within(world: DispatcherWorld, delayMs: number, promise: Promise<unknown>): Promise<void> {
  const settled = new AbortController();
  const stop = (): void => settled.abort();
  promise.then(stop, stop);
  return pause(world, delayMs, settled.signal);
}
