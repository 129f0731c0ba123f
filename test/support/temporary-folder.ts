import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const memory = '/dev/shm';
const prefix = 'svc-tests-';
const freeBytesMin = 4 * 1024 ** 3;

/**
 * Where the tests of this process and the databases that they start keep their files: in memory, where the machine has room
 * there, else where `TMPDIR` says. Tests end processes and never the power, so a flush to a real disk shows nothing, and
 * thousands of flushes take most of the time. The folder goes with this process.
 */
export function useTemporaryFolder(): Readonly<Record<string, string>> {
  const given = process.env['TMPDIR'];
  if (given !== undefined && given !== '') return { TMPDIR: given };
  if (!existsSync(memory) || freeBytes() < freeBytesMin) return {};
  removeLeftovers();
  const TMPDIR = join(memory, `${prefix}${process.pid}`);
  mkdirSync(TMPDIR, { recursive: true });
  // As every temporary folder: a database server runs as another user, and writes files of its own there.
  chmodSync(TMPDIR, 0o1777);
  process.on('exit', () => rmSync(TMPDIR, { recursive: true, force: true }));
  process.env['TMPDIR'] = TMPDIR;
  return { TMPDIR };
}

function freeBytes(): number {
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize;
}

/** Removes the folders of killed runs from memory. */
function removeLeftovers(): void {
  for (const name of readdirSync(memory).filter((each) => each.startsWith(prefix)))
    if (!isAlive(Number(name.slice(prefix.length))))
      rmSync(join(memory, name), { recursive: true, force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
