export interface StopOptions {
  /** How long handlers may continue, in seconds; 30 if absent. */
  readonly graceSeconds?: number | undefined;
}

/** The outcome of a delivery: the handler ended, the run is parked on a wait, or the service had no run to lease. */
export type Delivered = 'executed' | 'suspended' | 'nothing';

/** Executes runs by the handlers of this process. Use `run()` to poll, or `deliver()` for runs that a queue pushes. */
export interface SvcWorker extends AsyncDisposable {
  readonly workerId: string;
  /** Leases and executes runs until the worker is stopped. Call it once. */
  run(): Promise<void>;
  /**
   * Leases and executes exactly this run. Rejects with `WorkerUnavailableError` if all slots are in use or the worker stops,
   * and with another error if the run has no result. In both cases the queue should deliver it again.
   */
  deliver(message: { readonly runId: string }): Promise<Delivered>;
  /**
   * Takes no new run, except one that it has just asked for. Waits for the running handlers, then aborts their signals
   * and gives their runs back: the next lease continues a run without a result. The options of the first call apply.
   */
  stop(options?: StopOptions): Promise<void>;
}
