import { SvcClient } from '@svc-runtime/client';
import { createWorker, type Duration, defineHandler, Stop, start } from '@svc-runtime/client/worker';

const bank = { charge: async (order: string, key: string) => ({ id: `charge-${order}`, key }) };
const hour: Duration = '1s'; // '1h' in your code; this file is tested

const ship = defineHandler({
  id: 'order.ship',
  run: async ({ step }, { order }: { order: string }) => step('parcel', () => `parcel for ${order}`),
});

const refund = defineHandler({
  id: 'refund.pay',
  async run({ step, waitForEvent, sleep, invoke }, { order }: { order: string }) {
    const paid = await step('charge', ({ idempotencyKey }) => bank.charge(order, idempotencyKey), {
      retry: { attempts: 5 },
      timeout: '30s',
    });
    const approval = await waitForEvent('approve', { timeout: '7d' });
    if (approval === null) throw new Stop('not approved');
    await sleep('before the parcel', hour);
    return { charge: paid.id, approval, parcel: await invoke('ship', ship, { order }) };
  },
});

const client = new SvcClient();
const worker = createWorker({ client, workerId: 'refunds-1', concurrency: 8, handlers: [refund, ship] });
const running = worker.run();

const run = await start(
  client,
  refund,
  { order: '7' },
  { idempotencyKey: 'refund-7', tags: { customer: 'kim' } },
);
await run.raise('approve', { by: 'lee' });
console.log(JSON.stringify(await run.result({ waitTimeout: 120_000 })));
// => {"charge":"charge-7","approval":{"by":"lee"},"parcel":"parcel for 7"}

await worker.stop();
await running;
