import { type ClientCore, settingsOf } from './core.ts';
import { APIAbortError, APITimeoutError, SvcError } from './errors.ts';
import type { ExecutionRun } from './generated/models.ts';
import type { CallOptions } from './options.ts';
import { pause } from './world.ts';

/** Of `waitForExecutionRun`. The other options are those of each read, its `timeout` too. */
export interface RunWaitOptions extends CallOptions {
  /** How long to wait for the end altogether, in milliseconds. Without it: as long as the run takes. */
  readonly waitTimeout?: number | undefined;
}

/** The longest that one read may wait at the service, in seconds. */
const READ_SECONDS_MAX = 20;

/** Before the next read where the service answered at once, because as many calls wait there as may. */
const PAUSE_MS_MIN = 500;
const PAUSE_MS_MAX = 8_000;

const operation = 'getExecutionRun';

interface RunReader extends ClientCore {
  getExecutionRun(
    runId: string,
    parameters: { readonly waitSeconds: number },
    options: CallOptions,
  ): PromiseLike<ExecutionRun>;
}

/** Reads the run until it has ended. */
export async function waitForRun(
  client: RunReader,
  runId: string,
  { waitTimeout, ...options }: RunWaitOptions,
): Promise<ExecutionRun> {
  const { world, timeout } = settingsOf(client);
  if (waitTimeout !== undefined && !(waitTimeout >= 0))
    throw new SvcError('waitTimeout is a number of milliseconds from 0.');
  const until = waitTimeout === undefined ? Number.POSITIVE_INFINITY : world.now() + waitTimeout;
  const signal = options.signal ?? new AbortController().signal;
  // A read must not be given up while the service still waits for it.
  const readMsMax = Math.min(READ_SECONDS_MAX * 1_000, (options.timeout ?? timeout) / 2);
  for (let pauseMs = PAUSE_MS_MIN; ; ) {
    const begun = world.now();
    // Whole milliseconds: a query takes no number with an exponent, nor a long fraction.
    const readMs = Math.ceil(Math.max(0, Math.min(readMsMax, until - begun)));
    const run = await client.getExecutionRun(runId, { waitSeconds: readMs / 1_000 }, options);
    if (run.completedAtUtc !== null) return run;
    const now = world.now();
    if (now >= until)
      throw new APITimeoutError('The run did not end in the time to wait for it; it goes on.', { operation });
    if (now - begun >= readMs / 2) {
      pauseMs = PAUSE_MS_MIN;
      continue;
    }
    await pause(world, Math.min(pauseMs, until - now), signal);
    if (signal.aborted)
      throw new APIAbortError('The wait for the run was aborted.', { operation, cause: signal.reason });
    pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX);
  }
}
