/** `steps-restate.ts <folder>`: a service of Restate whose handler does ten steps. Prints its address. */
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { installed } from './install-peer.ts';
import { resultOf, STEPS, stepName } from './steps-program.ts';

interface Context {
  run<T>(name: string, work: () => Promise<T>): Promise<T>;
}

interface Restate {
  service(definition: object): object;
  createEndpointHandler(options: {
    readonly services: readonly object[];
  }): Parameters<typeof createServer>[1];
}

const [folder = ''] = process.argv.slice(2);
const restate = await installed<Restate>(folder, '@restatedev/restate-sdk');
const steps = restate.service({
  name: 'steps',
  handlers: {
    async run(context: Context) {
      for (let n = 0; n < STEPS; n += 1) await context.run(stepName(n), () => resultOf(n));
      return STEPS;
    },
  },
});
const server = createServer({}, restate.createEndpointHandler({ services: [steps] }));
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
