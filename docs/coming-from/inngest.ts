import { SvcClient } from '@svc-runtime/client';
import { createWorker, type Duration, defineHandler, Stop, start } from '@svc-runtime/client/worker';

const bank = { charge: async (order: string, key: string) => ({ id: `charge-${order}`, key }) };
const hour: Duration = '1s'; // '1h' in your code; this file is tested

const refund = defineHandler({
  id: 'refund.pay',
  async run({ step, all, waitForEvent, sleep }, { order }: { order: string }) {
    const paid = await step('charge', ({ idempotencyKey }) => bank.charge(order, idempotencyKey));
    const approval = await waitForEvent('approval', { timeout: '7d' });
    if (approval === null) throw new Stop('not approved');
    await sleep('an hour', hour);
    const [mail, label] = await all([
      () => step('mail', () => `mail about ${paid.id}`),
      () => step('label', () => `label for ${order}`),
    ]);
    return { mail, label };
  },
});

const client = new SvcClient();
const worker = createWorker({ client, workerId: 'refunds-1', concurrency: 8, handlers: [refund] });
const running = worker.run();

// The event starts the run, and its id is the key: an event that is delivered twice starts one run.
const requested = { id: 'event-1', order: '7' };
const run = await start(client, refund, { order: requested.order }, { idempotencyKey: requested.id });
await run.raise('approval', { by: 'lee' });
console.log(JSON.stringify(await run.result({ waitTimeout: 120_000 })));
// => {"mail":"mail about charge-7","label":"label for 7"}

await worker.stop();
await running;
