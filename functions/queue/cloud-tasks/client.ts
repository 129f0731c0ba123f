import { CloudTasksClient } from '@google-cloud/tasks';
import { credentials } from '@grpc/grpc-js';
import type { TaskService } from './cloud-tasks-queue.ts';

export interface TasksClientOptions {
  readonly projectId: string;
  /** `host:port` of an emulator, which needs neither credentials nor encryption. */
  readonly emulatorHost?: string;
}

/** gRPC status codes, https://grpc.io/docs/guides/status-codes */
const ALREADY_EXISTS = 6;
const PASSING = [14 /* UNAVAILABLE */, 4 /* DEADLINE_EXCEEDED */, 8 /* RESOURCE_EXHAUSTED */];

/** Total time for one message: a caller waits for it, and maintenance finds a run whose message is lost. */
const TOTAL_MS = 3_000;

/**
 * Overrides the library, which does not retry because tasks may be unnamed. Tasks of this service have names, so a retry
 * creates no duplicate.
 */
const calling = {
  retry: {
    retryCodes: PASSING,
    backoffSettings: {
      initialRetryDelayMillis: 50,
      retryDelayMultiplier: 2,
      maxRetryDelayMillis: 1_000,
      initialRpcTimeoutMillis: 2_000,
      rpcTimeoutMultiplier: 1,
      maxRpcTimeoutMillis: 2_000,
      totalTimeoutMillis: TOTAL_MS,
    },
  },
};

/** Throws without credentials. */
export async function openTaskService({ projectId, emulatorHost }: TasksClientOptions): Promise<TaskService> {
  const client = new CloudTasksClient({ projectId, ...addressOf(emulatorHost) });
  // Initialize here: a failure during the first call would also be an unhandled rejection and end the process.
  await client.initialize();
  return {
    async create(parent, task) {
      try {
        await client.createTask({ parent, task }, calling);
      } catch (error) {
        if ((error as { readonly code?: unknown }).code !== ALREADY_EXISTS) throw error;
      }
    },
    close: () => client.close(),
  };
}

function addressOf(emulatorHost: string | undefined) {
  if (emulatorHost === undefined) return {};
  const { hostname, port } = new URL(`http://${emulatorHost}`);
  return { apiEndpoint: hostname, port: Number(port), sslCreds: credentials.createInsecure() };
}
