import type { Timers } from './world.ts';

/**
 * What `work` comes to, or `late()` thrown where that takes longer than `delayMs`. Whatever the work comes to afterwards
 * is ignored. `late` is called at the end of the time and may tell the work to stop.
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
