import { readdirSync, readFileSync } from 'node:fs';

/** Processor time of all threads of another process, to the nanosecond; `null` where the system does not say. */
export function processorMs(pid: number | undefined): number | null {
  const folder = `/proc/${pid}/task`;
  try {
    return readdirSync(folder).reduce((sum, thread) => sum + threadMs(`${folder}/${thread}/schedstat`), 0);
  } catch {
    return null;
  }
}

/** A thread may end between the list and the read. */
function threadMs(path: string): number {
  try {
    return Number.parseInt(readFileSync(path, 'utf8'), 10) / 1e6;
  } catch {
    return 0;
  }
}
