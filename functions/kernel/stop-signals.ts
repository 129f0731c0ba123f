import type { Clock } from './world.ts';

/**
 * One Ctrl-C may come twice: the terminal signals the whole group of processes, and a parent such as npm passes its signal on
 * to its child.
 */
const SAME_PRESS_MS = 500;

export interface SignalledProcess {
  on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
  exit(code: number): unknown;
}

/** Resolves with the first stop signal; the second one ends the process at once. */
export function firstStopSignal(process: SignalledProcess, clock: Clock): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let first: { readonly signal: string; readonly at: number } | null = null;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      const at = clock.now();
      if (first === null) {
        first = { signal, at };
        resolve();
        return;
      }
      // After the clock was set back, the second Ctrl-C must still work.
      const isSamePress =
        signal === 'SIGINT' && first.signal === signal && Math.abs(at - first.at) < SAME_PRESS_MS;
      if (!isSamePress) process.exit(signal === 'SIGINT' ? 130 : 143);
    });
  }
  return promise;
}
