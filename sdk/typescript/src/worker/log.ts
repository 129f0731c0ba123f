import process from 'node:process';

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

/** Without a log, warnings about no run go to the warnings of the process: otherwise a worker that can get none would be silent. */
function warn({ level, message, runId, handlerId }: Omit<WorkerLogEntry, 'workerId'>): void {
  if (level !== 'warning' || runId !== undefined || handlerId === undefined) return;
  process.emitWarning(message, { type: 'SvcWorkerWarning' });
}

/** Wraps the caller's log: an error in it must not end the worker. */
export function loggerOf(workerId: string, log: WorkerLog | undefined): Logger {
  return (entry) => {
    try {
      if (log === undefined) warn(entry);
      else log({ ...entry, workerId });
    } catch {
      // An error of the log itself cannot be logged.
    }
  };
}
