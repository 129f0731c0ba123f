import { parentPort, workerData } from 'node:worker_threads';
import { SvcClient } from '../client.ts';
import { machine } from '../world.ts';
import { Renewer } from './renewer.ts';
import type { FromThread, ThreadData, ToThread } from './thread-messages.ts';

/** The thread that renews the leases of one worker, with connections of its own, whatever keeps the worker busy. */

const { baseUrl, apiKeyHeader, headers, leaseMs, everyMs } = workerData as ThreadData;
const credentials: { apiKey: string | null; token: string | null } = { apiKey: null, token: null };

// Whether a credential may go where the address leads was decided by the client that this one stands for. An empty one is
// none: what is asked for has to be a text.
const base = { baseUrl, apiKeyHeader, headers, insecure: true, apiKey: null, token: null };
const client = () => new SvcClient({ ...base, ...credentials });
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
const tell = (message: FromThread) => parentPort?.postMessage(message);

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
      tell({ kind: 'wanted' });
    }
  },
  tell,
});

parentPort?.on('message', (message: ToThread) => {
  if (message.kind === 'keep') renewer.keep(message.id, message.proof, message.leftMs);
  else if (message.kind === 'drop') renewer.drop(message.id);
  else if (message.kind === 'ask')
    tell({ kind: 'left', question: message.question, leftMs: renewer.leftMs(message.id) });
  else Object.assign(credentials, { apiKey: message.apiKey, token: message.token });
});

tell({ kind: 'ready' });
