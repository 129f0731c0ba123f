import { SvcClient } from '@svc-runtime/client';
import { createWorker, defineHandler, start, stopOnSignals } from '@svc-runtime/client/worker';

const sent: string[] = [];

const mail = defineHandler({
  id: 'mail.send',
  async run({ step }, { to }: { to: string }) {
    const text = await step('render', () => `Hello, ${to}!`);
    const retry = { attempts: 5, delay: '10ms', factor: 2 } as const;
    await step(
      'send',
      ({ attempt, idempotencyKey }) => {
        if (attempt < 3) throw new Error('the mail server is busy');
        sent.push(`${text} (key ${idempotencyKey.split('/')[1]}, try ${attempt})`);
      },
      { retry },
    );
    return { sent: true };
  },
});

const client = new SvcClient();
const worker = createWorker({ client, workerId: 'mails-1', concurrency: 20, handlers: [mail] });
stopOnSignals(worker);
const running = worker.run();

const job = await start(
  client,
  mail,
  { to: 'kim' },
  { idempotencyKey: 'welcome-kim', scheduledAtUtc: new Date().toISOString() },
);
console.log(JSON.stringify(await job.result())); // => {"sent":true}
console.log(sent.join()); // => Hello, kim! (key send, try 3)

const again = await start(
  client,
  mail,
  { to: 'kim' },
  { idempotencyKey: 'welcome-kim', scheduledAtUtc: job.run.scheduledAtUtc },
);
console.log(again.id === job.id, sent.length); // => true 1

await worker.stop();
await running;
