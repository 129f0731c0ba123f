/** A worker whose handlers do ten steps, make ten bare checkpoints, or do nothing. Prints the address of its server when it is ready. */
import { SvcClient } from '../../sdk/typescript/src/index.ts';
import { createWorker, defineHandler } from '../../sdk/typescript/src/worker/index.ts';
import { resultOf, STEPS, stepName } from './steps-program.ts';

const [baseUrl = '', concurrency = ''] = process.argv.slice(2);
const client = new SvcClient({ baseUrl });
const stepped = defineHandler({
  id: 'steps',
  async run({ step }) {
    for (let n = 0; n < STEPS; n += 1) await step(stepName(n), () => resultOf(n));
    return STEPS;
  },
});
const worker = createWorker({
  client,
  workerId: 'steps',
  concurrency: Number(concurrency),
  heartbeatFrom: 'event-loop',
  handlers: {
    steps: stepped,
    async checkpoints(context) {
      const results: object[] = [];
      for (let n = 0; n < STEPS; n += 1) {
        // The bare way holds what the journal holds: all results so far, in one checkpoint.
        results.push(await resultOf(n));
        await context.checkpoint('results', results);
      }
      return STEPS;
    },
    nothing: () => Promise.resolve(STEPS),
  },
});
process.once('SIGTERM', () => void worker.stop({ graceSeconds: 0 }).then(() => process.exit(0)));
console.log(baseUrl);
await worker.run();
