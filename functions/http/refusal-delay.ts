import type { Timers } from '../kernel/world.ts';

/**
 * Delays the rate-limit answers to an address that keeps sending after refusals. A caller that waits for each answer
 * then costs the process one request a second and not twenty. Only refusals wait: a request that finds a permit never
 * does.
 */
export interface RefusalDelays {
  /** Delays the answer to an address with this many refused requests in its window. */
  wait(address: string, refusals: number, signal: AbortSignal): Promise<void>;
  /** How many answers wait. */
  readonly waiting: number;
}

export interface RefusalDelaySettings {
  /** 0: no answer is delayed. */
  readonly delayMs: number;
  /** Refusals of one window that are answered at once: a client that reads `Retry-After` sees no delay. */
  readonly promptMax: number;
  /** Answers that wait at once. Each holds its connection; further ones are answered at once. */
  readonly perAddress: number;
  readonly perProcess: number;
}

export const refusalDelayDefaults: RefusalDelaySettings = {
  delayMs: 0,
  promptMax: 10,
  perAddress: 32,
  // Some 64 KiB of each body have arrived: 32 MiB at most.
  perProcess: 512,
};

export function createRefusalDelays(
  { delayMs, promptMax, perAddress, perProcess }: RefusalDelaySettings,
  timers: Timers,
): RefusalDelays {
  const byAddress = new Map<string, number>();
  let waiting = 0;
  const leave = (address: string): void => {
    waiting -= 1;
    const others = (byAddress.get(address) ?? 0) - 1;
    if (others > 0) byAddress.set(address, others);
    else byAddress.delete(address);
  };
  return {
    get waiting() {
      return waiting;
    },
    async wait(address, refusals, signal) {
      const own = byAddress.get(address) ?? 0;
      if (delayMs === 0 || refusals <= promptMax || signal.aborted) return;
      if (own >= perAddress || waiting >= perProcess) return;
      waiting += 1;
      byAddress.set(address, own + 1);
      try {
        await elapsed(delayMs, timers, signal);
      } finally {
        leave(address);
      }
    },
  };
}

/** Settles after the time, or when the client has gone. */
function elapsed(delayMs: number, timers: Timers, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = timers.after(delayMs, done);
    signal.addEventListener('abort', done, { once: true });
  });
}
