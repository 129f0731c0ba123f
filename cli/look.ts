import { existsSync, realpathSync, rmSync, statSync } from 'node:fs';
import { chmod, copyFile, mkdtemp } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { machine } from '../functions/compose/machine.ts';
import { FileWatch } from './file-watch.ts';
import { exitCodes, ToolError, warn } from './output.ts';
import { ProgressLine } from './progress.ts';

/**
 * Calls `work` with a place of the database at which a look changes no byte beside the file. SQLite makes the shared file of a
 * log that lacks it, also for a reader: such a pair is copied to a private folder and read there.
 */
export async function withLook<R>(
  path: string,
  verbose: boolean,
  work: (place: string) => Promise<R>,
): Promise<R> {
  if (!lacksShared(path)) return work(path);
  const real = realpathSync(path);
  const folder = await mkdtemp(join(tmpdir(), 'svc-look-')).catch((error: unknown) => {
    throw copyError(real, error);
  });
  const remove = removedAtExit(folder);
  try {
    const place = join(folder, basename(real));
    const before = stateOf(real);
    await copyPair(real, place, verbose);
    if (stateOf(real) === before) return await work(place);
  } finally {
    remove();
  }
  if (lacksShared(path)) throw new ToolError(`${path} was written while it was copied: ${again}`);
  return work(path);
}

/** Calls `work`, and says so where a server wrote the file meanwhile: rows read then may be of two moments. */
export async function notingWrites<R>(path: string, work: () => Promise<R>): Promise<R> {
  const watch = new FileWatch(path);
  try {
    const result = await work();
    if (watch.changed) warn(`WARNING: ${path} was written during the look, which may be wrong: ${again}.`);
    return result;
  } catch (error) {
    if (!watch.changed) throw error;
    const message = `${path} was written during the look: ${again}`;
    throw new ToolError(message, exitCodes.failed, { cause: error });
  }
}

const again = 'look again while no server writes';

function lacksShared(path: string): boolean {
  if (!existsSync(path)) return false;
  const real = realpathSync(path);
  return existsSync(`${real}-wal`) && !existsSync(`${real}-shm`);
}

function stateOf(path: string): string {
  const states = ['', '-wal', '-shm'].map((suffix) => {
    const found = statSync(`${path}${suffix}`, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeNs}`;
  });
  return states.join('; ');
}

function bytesOf(path: string): number {
  return statSync(path).size + (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0);
}

function copyError(path: string, error: unknown): ToolError {
  const reason = error instanceof Error ? error.message : String(error);
  const message = `${path} has a write-ahead log without its shared file and is read in a copy, which cannot be made: ${reason}; TMPDIR names another folder, with room for ${bytesOf(path)} bytes`;
  return new ToolError(message, exitCodes.failed, { cause: error });
}

async function copyPair(from: string, to: string, verbose: boolean): Promise<void> {
  const progress = new ProgressLine({ stream: process.stderr, clock: machine.clock, verbose });
  const step = `copying ${from} and its log, ${bytesOf(from)} bytes, to ${to}`;
  progress.show({ step, records: 0, recordsTotal: null });
  try {
    for (const suffix of ['', '-wal']) {
      await copyFile(`${from}${suffix}`, `${to}${suffix}`);
      // The file may be one that its owner only reads.
      await chmod(`${to}${suffix}`, 0o600);
    }
  } catch (error) {
    throw copyError(from, error);
  } finally {
    progress.end();
  }
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The folder goes when the process ends, also by a signal, or before, by a call. */
function removedAtExit(folder: string): () => void {
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const listeners = signals.map((name) => [name, () => process.exit(128 + constants.signals[name])] as const);
  process.once('exit', remove);
  for (const [name, listener] of listeners) process.once(name, listener);
  return () => {
    process.off('exit', remove);
    for (const [name, listener] of listeners) process.off(name, listener);
    remove();
  };
}
