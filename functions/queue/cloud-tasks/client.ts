import { CloudTasksClient } from '@google-cloud/tasks';
import { credentials } from '@grpc/grpc-js';
import type { TaskService } from './cloud-tasks-queue.ts';

export interface TasksClientOptions {
  readonly projectId: string;
  /** `host:port` of an emulator, which is spoken to without credentials and without encryption. */
  readonly emulatorHost?: string;
}

/** Codes of gRPC, https://grpc.io/docs/guides/status-codes */
const ALREADY_EXISTS = 6;
const PASSING = [14 /* UNAVAILABLE */, 4 /* DEADLINE_EXCEEDED */, 8 /* RESOURCE_EXHAUSTED */];

/** All tries of one message together: a caller waits for it, and what is not told of is found again. */
const TOTAL_MS = 3_000;

/** The client library gives up after one try, as not every task may be made twice; each of ours has a name. */
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

/** Throws where there are no credentials. */
export async function openTaskService({ projectId, emulatorHost }: TasksClientOptions): Promise<TaskService> {
  const client = new CloudTasksClient({ projectId, ...addressOf(emulatorHost) });
  // Left to its first call, the client would throw a failure of this into nowhere as well, and end the process.
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
