/** `steps-dbos.ts <folder> <database>`: a program with DBOS that answers each request with the result of a workflow of ten steps. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { installed } from './install-peer.ts';
import { resultOf, STEPS, stepName } from './steps-program.ts';

interface Dbos {
  setConfig(config: object): void;
  launch(): Promise<void>;
  shutdown(): Promise<void>;
  registerWorkflow<T>(work: () => Promise<T>, options: { readonly name: string }): () => Promise<T>;
  runStep<T>(work: () => Promise<T>, options: { readonly name: string }): Promise<T>;
}

const [folder = '', database = '', connections = ''] = process.argv.slice(2);
const { DBOS } = await installed<{ readonly DBOS: Dbos }>(folder, '@dbos-inc/dbos-sdk');
DBOS.setConfig({
  name: 'steps',
  systemDatabaseUrl: database,
  systemDatabasePoolSize: Number(connections),
  runAdminServer: false,
  logLevel: 'error',
});
const flow = DBOS.registerWorkflow(
  async () => {
    for (let n = 0; n < STEPS; n += 1) await DBOS.runStep(() => resultOf(n), { name: stepName(n) });
    return STEPS;
  },
  { name: 'steps' },
);
await DBOS.launch();
const server = createServer((request, response) => {
  request.resume();
  flow().then(
    (result) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(result)),
    (error: unknown) => response.writeHead(500).end(String(error)),
  );
});
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once('SIGTERM', () => void DBOS.shutdown().then(() => process.exit(0)));
