import { type ClientCore, settingsOf } from './core.ts';
import { APIAbortError, APITimeoutError, SvcError } from './errors.ts';
import type { ExecutionRun } from './generated/models.ts';
import type { CallOptions } from './options.ts';
import { pause } from './world.ts';

/** The options of `waitForExecutionRun`. Those of `CallOptions`, `timeout` included, apply to each read. */
export interface RunWaitOptions extends CallOptions {
  /** The time for the whole wait in milliseconds; unlimited if absent. */
  readonly waitTimeout?: number | undefined;
}

/** The longest wait of one read at the service, in seconds. */
const READ_SECONDS_MAX = 20;

/** The pause after a read that the service answered at once: it has too many waiting calls. */
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
    throw new SvcError('waitTimeout must be a number of milliseconds from 0.');
  const until = waitTimeout === undefined ? Number.POSITIVE_INFINITY : world.now() + waitTimeout;
  const signal = options.signal ?? new AbortController().signal;
  // The call must not time out while the service still waits with its answer.
  const readMsMax = Math.min(READ_SECONDS_MAX * 1_000, (options.timeout ?? timeout) / 2);
  for (let pauseMs = PAUSE_MS_MIN; ; ) {
    const begun = world.now();
    // Whole milliseconds: the query parameter takes no exponent and no long fraction.
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
