import { describeFailure, type Log } from './log.ts';

/** The source of warnings of the runtime and of libraries: the process. */
export interface WarningSource {
  removeAllListeners(event: 'warning'): unknown;
  on(event: 'warning', listener: (warning: Error) => void): unknown;
}

/** Writes warnings as lines of the log. Node writes them as text, which breaks a log of JSON lines. */
export function logWarnings(source: WarningSource, log: Log): void {
  source.removeAllListeners('warning');
  source.on('warning', (warning) => {
    // The class of a warning is `Error`; its name gives the kind.
    const name = /^[A-Za-z]{1,48}$/.test(warning.name) ? warning.name : 'Warning';
    log({
      severity: 'WARNING',
      message: 'A warning of the runtime or of a library',
      failure: `${name}: ${describeFailure(warning)}`,
    });
  });
}
