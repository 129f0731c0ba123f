import process from 'node:process';
import type { StopOptions, SvcWorker } from './svc-worker.ts';

/**
 * Stops the worker when the process receives a signal. A second signal ends the process as usual. The returned function
 * removes the listeners.
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
  /** `SIGTERM` and `SIGINT` if absent. */
  readonly signals?: readonly ('SIGTERM' | 'SIGINT' | 'SIGHUP' | 'SIGUSR2')[];
}
