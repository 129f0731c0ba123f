import type { Timers } from '../../functions/kernel/world.ts';
import { messageOf } from './check.ts';

/** The fault of work that takes longer than it may. */
export const silence = 'it says nothing';

/** Why the work failed, `silence` if it takes longer, `undefined` if it is done. */
export function faultWithin(
  timers: Timers,
  delayMs: number,
  work: () => Promise<void>,
): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const cancel = timers.after(delayMs, () => resolve(silence));
    void faultOf(work).then(resolve, reject).finally(cancel);
  });
}

async function faultOf(work: () => Promise<void>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
