import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** Processor time that the file took of its worker, and of the processes that it started and that have ended. */
    cpuMs?: number;
  }
}

/** Linux counts in hundredths of a second. Another system gives no such figure, and only the worker counts. */
function endedChildrenCpuMs(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    // Fields 16 and 17 of proc(5). The name of the process, in brackets, may hold spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[13]) + Number(fields[14])) * 10;
  } catch {
    return 0;
  }
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000 + endedChildrenCpuMs();
}

// This file runs once more for each test file of a process.
const before = cpuMs();

// The hook that is registered first runs last.
// oxlint-disable-next-line no-empty-pattern -- vitest reads the names of fixtures from this pattern
afterAll(({}, suite) => {
  suite.meta.cpuMs = cpuMs() - before;
});
