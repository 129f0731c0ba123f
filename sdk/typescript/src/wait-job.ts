import { type ClientCore, settingsOf } from './core.ts';
import { APIAbortError, APITimeoutError, SvcError } from './errors.ts';
import type { CallOptions } from './options.ts';
import type { RunWaitOptions } from './wait-run.ts';
import { pause } from './world.ts';

/** The pause between two reads: it doubles while the job works. */
const PAUSE_MS_MIN = 250;
const PAUSE_MS_MAX = 4_000;

/** Families of jobs write their statuses in lower case or with a capital. */
const WORKING: ReadonlySet<string> = new Set(['queued', 'running', 'Queued', 'Running']);

/** How a job is read. */
interface JobReader<Job> {
  /** Names the read in errors. */
  readonly operation: string;
  readonly read: (options: CallOptions) => PromiseLike<Job | null>;
}

/** Reads the job until it has ended; `null` if there is no such job. */
export async function waitForJob<Job extends { readonly status: string }>(
  client: ClientCore,
  { operation, read }: JobReader<Job>,
  { waitTimeout, ...options }: RunWaitOptions,
): Promise<Job | null> {
  const { world } = settingsOf(client);
  if (waitTimeout !== undefined && !(waitTimeout >= 0))
    throw new SvcError('waitTimeout must be a number of milliseconds from 0.');
  const until = waitTimeout === undefined ? Number.POSITIVE_INFINITY : world.now() + waitTimeout;
  const signal = options.signal ?? new AbortController().signal;
  for (let pauseMs = PAUSE_MS_MIN; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
    const job = await read(options);
    if (job === null || !WORKING.has(job.status)) return job;
    const now = world.now();
    if (now >= until)
      throw new APITimeoutError('The job did not end in the time to wait for it; it goes on.', { operation });
    await pause(world, Math.min(pauseMs, until - now), signal);
    if (signal.aborted)
      throw new APIAbortError('The wait for the job was aborted.', { operation, cause: signal.reason });
  }
}
