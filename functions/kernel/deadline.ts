import type { Timers } from './world.ts';

/**
 * The result of `work`, or the error of `late()` thrown once `delayMs` has passed. A later result is ignored. `late` runs
 * at the deadline and may stop the work.
 */
export async function beforeDeadline<T>(
  timers: Timers,
  delayMs: number,
  work: Promise<T>,
  late: () => Error,
): Promise<T> {
  const deadline = Promise.withResolvers<never>();
  const cancel = timers.after(delayMs, () => deadline.reject(late()));
  try {
    return await Promise.race([work, deadline.promise]);
  } finally {
    cancel();
  }
}
