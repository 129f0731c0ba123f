import { SvcClient } from '@svc-runtime/client';
import { createWorker, type Duration, defineHandler, Stop, start } from '@svc-runtime/client/worker';

const bank = { charge: async (order: string, key: string) => ({ id: `charge-${order}`, key }) };
const hour: Duration = '1s'; // '1h' in your code; this file is tested

const refund = defineHandler({
  id: 'refund.pay',
  async run({ step, commit, waitForEvent, sleep }, { order }: { order: string }) {
    const paid = await step('charge', ({ idempotencyKey }) => bank.charge(order, idempotencyKey), {
      retry: { attempts: 5 },
    });
    const approval = await waitForEvent('approval', { timeout: '7d' });
    if (approval === null) throw new Stop('not approved');
    await sleep('before the books', hour);
    const data = { charge: paid.id, by: approval };
    const document = { tenantId: 'acme', documentType: 'refund', id: order, schemaVersion: '1', data };
    await commit('books', 'acme', { mutations: [{ document }] });
    return paid.id;
  },
});

const client = new SvcClient();
const worker = createWorker({ client, workerId: 'refunds-1', concurrency: 8, handlers: [refund] });
const running = worker.run();

const run = await start(client, refund, { order: '7' }, { idempotencyKey: 'refund-7' });
await run.raise('approval', 'lee');
console.log(await run.result({ waitTimeout: 120_000 })); // => charge-7
const kept = await client.getCanonicalDocument('acme', { documentType: 'refund', id: '7' });
console.log(JSON.stringify(kept.data)); // => {"by":"lee","charge":"charge-7"}

await worker.stop();
await running;
