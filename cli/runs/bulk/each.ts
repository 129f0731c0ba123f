import { Refused } from '../../remote/refused.ts';

/** Calls at a time. */
const AT_A_TIME = 4;
/** After so many refusals of one call the service has no room for it. */
const TRIES_MAX = 30;
const PAUSE_SECONDS = 1;

export interface EachOptions {
  /** An abort lets the calls under way end, and begins no other. */
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** Rejects where the signal aborts. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/**
 * Performs a call for each id, four at a time. When the service asks to come later, all of them wait for the time that it names.
 * Throws the first failure, after the calls under way have ended.
 */
export async function forEachId(
  ids: readonly string[],
  perform: (id: string) => Promise<void>,
  { signal, now, pause }: EachOptions,
): Promise<void> {
  let next = 0;
  let resumeAt = 0;
  let isOver = false;
  const patiently = async (id: string): Promise<void> => {
    for (let tries = 1; ; tries += 1) {
      while (resumeAt > now()) await pause(resumeAt - now(), signal);
      try {
        return await perform(id);
      } catch (error) {
        if (!(error instanceof Refused) || !error.isLater || tries === TRIES_MAX) throw error;
        resumeAt = Math.max(resumeAt, now() + (error.retryAfterSeconds ?? PAUSE_SECONDS) * 1_000);
      }
    }
  };
  const line = async (): Promise<void> => {
    for (;;) {
      const id = ids[next];
      if (id === undefined || isOver || signal.aborted) return;
      next += 1;
      try {
        await patiently(id);
      } catch (error) {
        isOver = true;
        throw error;
      }
    }
  };
  const lines = await Promise.allSettled(Array.from({ length: AT_A_TIME }, line));
  signal.throwIfAborted();
  for (const ended of lines) if (ended.status === 'rejected') throw ended.reason;
}
