import { type ClientCore, settingsOf } from './core.ts';
import { APIAbortError, APITimeoutError, SvcError } from './errors.ts';
import type { RecordImportJob } from './generated/models.ts';
import type { CallOptions } from './options.ts';
import type { RunWaitOptions } from './wait-run.ts';
import { pause } from './world.ts';

/** The pause between two reads: it doubles while the job works. */
const PAUSE_MS_MIN = 250;
const PAUSE_MS_MAX = 4_000;

const operation = 'getRecordImportJob';

interface JobReader extends ClientCore {
  getRecordImportJob(jobId: string, options: CallOptions): PromiseLike<RecordImportJob | null>;
}

/** Reads the job until it has ended; `null` if there is no such job. */
export async function waitForJob(
  client: JobReader,
  jobId: string,
  { waitTimeout, ...options }: RunWaitOptions,
): Promise<RecordImportJob | null> {
  const { world } = settingsOf(client);
  if (waitTimeout !== undefined && !(waitTimeout >= 0))
    throw new SvcError('waitTimeout is a number of milliseconds from 0.');
  const until = waitTimeout === undefined ? Number.POSITIVE_INFINITY : world.now() + waitTimeout;
  const signal = options.signal ?? new AbortController().signal;
  for (let pauseMs = PAUSE_MS_MIN; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
    const job = await client.getRecordImportJob(jobId, options);
    if (job === null || !['queued', 'running'].includes(job.status)) return job;
    const now = world.now();
    if (now >= until)
      throw new APITimeoutError('The job did not end in the time to wait for it; it goes on.', { operation });
    await pause(world, Math.min(pauseMs, until - now), signal);
    if (signal.aborted)
      throw new APIAbortError('The wait for the job was aborted.', { operation, cause: signal.reason });
  }
}
