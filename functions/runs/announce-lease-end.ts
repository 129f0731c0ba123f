import { afterWrite, requeueEarlyDelivery } from './announcements.ts';
import type { Runtime } from './runtime.ts';
import { settleOne } from './settle.ts';

/** Sends the message about the end of a lease that its holder gave up: the next delivery continues the run. */
export async function announceLeaseEnd(runtime: Runtime, runId: string): Promise<void> {
  if (runtime.queue.delivers !== true) return;
  await afterWrite(runtime, 'The end of a lease could not be announced', async () => {
    const now = runtime.world.clock.now();
    const run = await settleOne(runtime, runId, now);
    if (run?.status === 'running') await requeueEarlyDelivery(runtime, run, now);
  });
}
