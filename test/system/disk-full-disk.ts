import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where no other process sees our mount: as root in a mount namespace alone, else in a user namespace, too. */
const WAYS = [
  { unshare: ['--mount'], enter: ['--mount'] },
  {
    unshare: ['--user', '--map-root-user', '--mount'],
    enter: ['--user', '--preserve-credentials', '--mount'],
  },
] as const;
type Way = (typeof WAYS)[number];

const SCRIPT = 'mount -t tmpfs -o "size=$1" tmpfs "$0" && echo mounted && exec cat';

/** The way that works here; none where the machine allows no mount. */
const way: Way | undefined = WAYS.find(({ unshare }) => {
  const tried = spawnSync('unshare', [...unshare, 'sh', '-c', 'mount -t tmpfs tmpfs /tmp'], {
    timeout: 20_000,
  });
  return tried.status === 0;
});

/** Why these tests cannot run; `undefined` where they can. */
export const smallDiskMissing: string | undefined =
  way === undefined ? 'this machine forbids mounting a file system, also by unshare' : undefined;

/**
 * A file system of a few megabytes, in memory. It lies in a namespace of its own, which a process holds that ends with this
 * one: so nothing stays mounted, however a test ends. Programs run in there; the test itself looks in from outside.
 */
export class SmallDisk implements AsyncDisposable {
  /** The disk, to programs that run in its namespace. */
  readonly path: string;
  /** The disk, to this process. */
  readonly seen: string;
  readonly #holder: ChildProcess;
  readonly #way: Way;

  private constructor(holder: ChildProcess, path: string, used: Way) {
    this.#holder = holder;
    this.#way = used;
    this.path = path;
    this.seen = `/proc/${holder.pid}/root${path}`;
  }

  static async mount(bytes: number): Promise<SmallDisk> {
    if (way === undefined) throw new Error(smallDiskMissing);
    const path = mkdtempSync(join(tmpdir(), 'svc-small-disk-'));
    const args = [...way.unshare, 'sh', '-c', SCRIPT, path, `${bytes}`];
    const holder = spawn('unshare', args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const [said] = (await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit')])) as [unknown];
    if (!String(said).startsWith('mounted')) throw new Error('the small disk could not be mounted');
    return new SmallDisk(holder, path, way);
  }

  /** The command that runs a program in the namespace of the disk. */
  command(program: string, args: readonly string[]): { command: string; args: string[] } {
    return {
      command: 'nsenter',
      args: [...this.#way.enter, '--target', `${this.#holder.pid}`, '--', program, ...args],
    };
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.seen);
    return bavail * bsize;
  }

  /** Takes all room except `leftBytes`. */
  fill(leftBytes = 0): void {
    const file = openSync(join(this.seen, 'ballast'), 'w');
    const block = Buffer.alloc(4096);
    try {
      while (this.freeBytes > leftBytes) writeSync(file, block);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(file);
    }
  }

  /** Gives back what `fill` took. */
  free(): void {
    rmSync(join(this.seen, 'ballast'), { force: true });
  }

  folder(name: string): string {
    mkdirSync(join(this.seen, name), { recursive: true });
    return join(this.path, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#holder.stdin?.end();
    if (this.#holder.exitCode === null) await once(this.#holder, 'exit');
    rmSync(this.path, { recursive: true, force: true });
  }
}
