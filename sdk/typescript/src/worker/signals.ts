import process from 'node:process';
import type { StopOptions, SvcWorker } from './worker.ts';

/**
 * Stops the worker when the process is told to end. A second signal ends it as if nobody had listened. What it gives takes
 * that back.
 */
export function stopOnSignals(worker: Pick<SvcWorker, 'stop'>, options: SignalOptions = {}): () => void {
  const { signals = ['SIGTERM', 'SIGINT'], ...rest } = options;
  const undo = () => {
    for (const signal of signals) process.off(signal, stop);
  };
  const stop = () => {
    undo();
    void worker.stop(rest);
  };
  for (const signal of signals) process.on(signal, stop);
  return undo;
}

export interface SignalOptions extends StopOptions {
  /** `SIGTERM` and `SIGINT` where they are not given. */
  readonly signals?: readonly ('SIGTERM' | 'SIGINT' | 'SIGHUP' | 'SIGUSR2')[];
}
