import { fileWordsOf } from './failures.ts';
import { exitCodes, warn } from './output.ts';

/** Whoever reads our output may have seen enough. It is cut short, so the end is not a good one: that of SIGPIPE. */
const BROKEN_PIPE = 141;

/**
 * Looks after standard output, which may be a pipe that nobody reads any more, or a disk that is full. Work that is under
 * way goes on: a restore is not left half swept because its result cannot be printed. But the process does not end well.
 *
 * The answer says whether a failure is nothing but that one, which has been told.
 */
export function watchStandardOutput(): (error: unknown) => boolean {
  let broken: NodeJS.ErrnoException | undefined;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (broken !== undefined) return;
    broken = error;
    if (error.code !== 'EPIPE') warn(`standard output: ${fileWordsOf(error.code)}`);
  });
  process.on('exit', (code) => {
    if (broken === undefined || code !== exitCodes.ok) return;
    process.exitCode = broken.code === 'EPIPE' ? BROKEN_PIPE : exitCodes.failed;
  });
  return (error) => broken !== undefined && comesFrom(error, broken);
}

/** What pipes into a stream that broke gets its error, or one that says it is closed. */
function comesFrom(error: unknown, broken: NodeJS.ErrnoException): boolean {
  if (error === broken) return true;
  if (!(error instanceof Error)) return false;
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ERR_STREAM_DESTROYED';
}
