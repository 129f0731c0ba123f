import { fileWordsOf } from './failures.ts';
import { exitCodes, warn } from './output.ts';

/** The reader closed our output early. The output is cut short, so the exit code is that of SIGPIPE. */
const BROKEN_PIPE = 141;

/**
 * Handles errors of standard output, such as a closed pipe or a full disk. The work continues: a restore must not
 * stop because its result cannot be printed. The exit code then reports the failure. The returned function says
 * whether an error is only this one, which was already reported.
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

/** Pipes into a broken stream fail with its error, or with one that says it is closed. */
function comesFrom(error: unknown, broken: NodeJS.ErrnoException): boolean {
  if (error === broken) return true;
  if (!(error instanceof Error)) return false;
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ERR_STREAM_DESTROYED';
}
