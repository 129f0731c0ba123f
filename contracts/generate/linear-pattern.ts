import { checkSync } from 'recheck';

/** Switches off the checker's time limits, so that only its character limits count, which are the same on each machine. */
const byCountsAlone = { timeout: null, attackTimeout: null, incubationTimeout: null, seedingTimeout: null };

/**
 * Whether a regular expression needs no more than linear time, in the words of the checker. The checker runs as JavaScript in this
 * process: package.json replaces its native programs, which weigh 51 MB, by a small package that they are not.
 */
export function patternStatus(source: string, flags: string): 'safe' | 'vulnerable' | 'unknown' {
  process.env['RECHECK_SYNC_BACKEND'] = 'pure';
  return checkSync(source, flags, byCountsAlone).status;
}
