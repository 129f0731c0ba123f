/**
 * A worker in TypeScript for the handlers of `test_steps_languages.py`, which has the same in Python. It ends with its input.
 */
import { SvcClient } from '../../typescript/src/index.ts';
import { createWorker, defineHandler, type Steps } from '../../typescript/src/worker/index.ts';

const [baseUrl = '', workerId = ''] = process.argv.slice(2);

const order = async ({ step, sleep, waitForEvent, all, map, version, uuid }: Steps, number: number) => {
  const by = 'typescript';
  const charge = await step('charge', () => ({ by, amount: number / 4, text: 'é😀\u0001' }));
  const id = await uuid();
  const approval = await waitForEvent('approval', { timeout: '7d' });
  await sleep('cool', 0.05);
  const [label, mail] = await all([() => step('label', () => by), () => step(['mail', number], () => by)]);
  const sizes = await map([1, 2], {}, (size) => step(['size', size], () => 'x'.repeat(size * 10_000).length));
  return { charge, approval, label, mail, sizes, version, same: id === (await step('id', () => id)) };
};

const handlers = { 'h-6': defineHandler({ id: 'h-6', version: '2', run: order }) };
const worker = createWorker({ client: new SvcClient({ baseUrl }), workerId, handlers, waitSeconds: 0.2 });
const working = worker.run();
process.stdout.write('ready\n');
for await (const _ of process.stdin) continue;
await worker.stop();
await working;
