/** The worker of `compose.yaml`: it takes the place of `start.ts` in the folder that `npm create svc-app` makes. */
import { readFileSync } from 'node:fs';
import { SvcClient } from '@svc-runtime/client';
import { createWorker, stopOnSignals } from '@svc-runtime/client/worker';
import { handlers } from './worker.ts';

const { TOKEN_FILE = '', WORKER_ID = '' } = process.env;
const client = new SvcClient({
  // A token ends after an hour or a day. The file is read for each request, so that a new token needs no restart.
  token: () => readFileSync(TOKEN_FILE, 'utf8').trim(),
  // Plain HTTP: the network of the project does not leave this machine.
  insecure: true,
});
const worker = createWorker({
  client,
  workerId: WORKER_ID,
  handlers,
  concurrency: 8,
  log: ({ level, message, runId, error }) => console.error(level, message, runId ?? '', error ?? ''),
});
stopOnSignals(worker);
await worker.run();
