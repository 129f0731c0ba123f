import { describeFailure, type Log } from './log.ts';

/** What emits the warnings of the runtime and of libraries: the process. */
export interface WarningSource {
  removeAllListeners(event: 'warning'): unknown;
  on(event: 'warning', listener: (warning: Error) => void): unknown;
}

/** Writes warnings as lines of the log. Node writes them as text, which breaks a log of JSON lines. */
export function logWarnings(source: WarningSource, log: Log): void {
  source.removeAllListeners('warning');
  source.on('warning', (warning) => {
    // Its class is `Error`; the name says which kind of warning it is.
    const name = /^[A-Za-z]{1,48}$/.test(warning.name) ? warning.name : 'Warning';
    log({
      severity: 'WARNING',
      message: 'A warning of the runtime or of a library',
      failure: `${name}: ${describeFailure(warning)}`,
    });
  });
}
