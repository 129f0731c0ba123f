import { parentPort, workerData } from 'node:worker_threads';
import { SvcClient } from '../client.ts';
import { machine } from '../world.ts';
import { Renewer } from './renewer.ts';
import type { FromThread, ThreadData, ToThread } from './thread-messages.ts';

/** The thread that renews the leases of one worker. A busy worker cannot delay it: it has its own connections. */

const { baseUrl, apiKeyHeader, headers, leaseMs, everyMs } = workerData as ThreadData;
const credentials: { apiKey: string | null; token: string | null } = { apiKey: null, token: null };

// The worker's client has already checked whether credentials may go to this address. The credentials start as null, since
// an absent option would be read from the environment.
const base = { baseUrl, apiKeyHeader, headers, insecure: true, apiKey: null, token: null };
const client = () => new SvcClient({ ...base, ...credentials });
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
const notify = (message: FromThread) => parentPort?.postMessage(message);

const renewer = new Renewer({
  world: machine,
  leaseMs,
  everyMs,
  async renew(proof, timeout) {
    try {
      const request = { ...proof, ttlSeconds: leaseMs / 1_000 };
      const { run } = await client().heartbeatExternalExecutionLease(request, { timeout });
      return run.cancellationRequested;
    } finally {
      notify({ kind: 'wanted' });
    }
  },
  notify,
});

parentPort?.on('message', (message: ToThread) => {
  if (message.kind === 'keep') renewer.keep(message.id, message.proof, message.leftMs);
  else if (message.kind === 'drop') renewer.drop(message.id);
  else if (message.kind === 'ask')
    notify({ kind: 'left', question: message.question, leftMs: renewer.leftMs(message.id) });
  else Object.assign(credentials, { apiKey: message.apiKey, token: message.token });
});

notify({ kind: 'ready' });
