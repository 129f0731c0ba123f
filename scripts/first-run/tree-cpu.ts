import { existsSync, readdirSync, readFileSync } from 'node:fs';

/**
 * The processor seconds of all processes that this one started, also of those that run and of those that have ended. The difference of two
 * calls is the work between them, which the load of the machine hardly changes. `null` on a system without `/proc`.
 */
export function treeCpuSeconds(): number | null {
  const processes = new Map<number, ProcessTimes>();
  for (const name of existsSync('/proc') ? readdirSync('/proc') : []) {
    if (!/^\d+$/.test(name)) continue;
    const times = timesOf(name);
    if (times !== null) processes.set(Number(name), times);
  }
  const own = processes.get(process.pid);
  if (own === undefined) return null;
  const below = new Set([process.pid]);
  // A child may have a smaller number than its parent.
  for (let size = 0; size < below.size; ) {
    size = below.size;
    for (const [id, { parent }] of processes) if (below.has(parent)) below.add(id);
  }
  below.delete(process.pid);
  const running = [...below]
    .map((id) => processes.get(id))
    .map((each) => (each?.own ?? 0) + (each?.ended ?? 0));
  return running.reduce((sum, each) => sum + each, own.ended);
}

interface ProcessTimes {
  readonly parent: number;
  /** Seconds of the process itself, and of its children that have ended. */
  readonly own: number;
  readonly ended: number;
}

/** `null` for a process that has ended meanwhile. */
function timesOf(id: string): ProcessTimes | null {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, 'utf8');
    // Fields 4 and 14 to 17 of proc(5), in hundredths of a second. The name of the process, in brackets, may hold spaces.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15);
    return { parent: fields[1] ?? 0, own: (user + system) / 100, ended: (endedUser + endedSystem) / 100 };
  } catch {
    return null;
  }
}
