/** What a worker tells of itself. It never holds a token or a payload. */
export interface WorkerLogEntry {
  readonly level: 'debug' | 'info' | 'warning' | 'error';
  readonly message: string;
  readonly workerId: string;
  readonly runId?: string;
  readonly handlerId?: string;
  readonly attempt?: number;
  /** What was thrown, such as by a handler: it stays here. */
  readonly error?: unknown;
}

export type WorkerLog = (entry: WorkerLogEntry) => void;

export type Tell = (entry: Omit<WorkerLogEntry, 'workerId'>) => void;

/** A log that throws ends nothing. */
export function teller(workerId: string, log: WorkerLog | undefined): Tell {
  return (entry) => {
    try {
      log?.({ ...entry, workerId });
    } catch {
      // There is nobody left to tell.
    }
  };
}
