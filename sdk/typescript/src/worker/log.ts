/** A log entry of a worker. It never holds a token or a payload. */
export interface WorkerLogEntry {
  readonly level: 'debug' | 'info' | 'warning' | 'error';
  readonly message: string;
  readonly workerId: string;
  readonly runId?: string;
  readonly handlerId?: string;
  readonly attempt?: number;
  /** The error, such as one of a handler. It is not sent to the service. */
  readonly error?: unknown;
}

export type WorkerLog = (entry: WorkerLogEntry) => void;

export type Logger = (entry: Omit<WorkerLogEntry, 'workerId'>) => void;

/** Wraps the caller's log: an error in it must not end the worker. */
export function loggerOf(workerId: string, log: WorkerLog | undefined): Logger {
  return (entry) => {
    try {
      log?.({ ...entry, workerId });
    } catch {
      // An error of the log itself cannot be logged.
    }
  };
}
