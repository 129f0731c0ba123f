import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { JsonClient } from './json-client.ts';
import type { NeighbourKind } from './neighbour-server.ts';
import { schedulingOfNeighbours } from './neighbours.ts';

/** Loads that a process of its own makes (`neighbour-kinds-child.ts`). */

const DOCUMENTS = 5_000;
const DIMENSIONS = 4_096;

export const neighbourExports = kind({
  bench: 'neighbour-exports',
  neighbours: `two callers that export a tenant of ${DOCUMENTS.toLocaleString('en')} documents of 5 kB, again and again`,
  async prepare(client) {
    const data = { text: 'x'.repeat(5_000) };
    for (let at = 0; at < DOCUMENTS; at += 100) {
      const mutations = Array.from({ length: 100 }, (_, n) => ({
        operation: 'upsert',
        document: { tenantId: 'bulk', documentType: 'order', id: `${at + n}`, schemaVersion: '1', data },
      }));
      await client.post('/canonical/tenants/bulk/transactions', { idempotencyKey: `${at}`, mutations });
    }
  },
});

export const neighbourAnswers = kind({
  bench: 'neighbour-answers',
  neighbours: 'four callers whose model answers with 9 MB of vectors or of nested JSON',
  settings: (port) => [
    'Providers:EnableLiveTargets=yes',
    'Providers:0:Id=hostile',
    'Providers:0:Kind=openai-compatible',
    `Providers:0:BaseAddress=http://127.0.0.1:${port}/v1`,
    'Providers:0:Model=m',
    `Providers:0:Dimensions=${DIMENSIONS}`,
    'Embeddings:Provider=hostile',
  ],
});

export const neighbourWaits = kind({
  bench: 'neighbour-waits',
  neighbours: '1,000 lease calls of the workers of another tenant that wait 20 s each',
  settings: () => ['ExecutionRuntime:ExternalHandlers:0:HandlerId=work'],
});

interface Load {
  readonly bench: string;
  readonly neighbours: string;
  /** `port`: that of the model which the process of the load serves. */
  readonly settings?: (port: number) => readonly string[];
  readonly prepare?: (client: JsonClient) => Promise<void>;
}

function kind({ bench, neighbours, settings, prepare }: Load): NeighbourKind {
  let child: ChildProcess | undefined;
  const hear = async <T>(): Promise<T> => {
    if (child === undefined) throw new Error('the load was not started');
    const [message] = (await once(child, 'message')) as [T];
    return message;
  };
  return {
    bench,
    neighbours,
    async settings() {
      const program = ['test/bench/neighbour-kinds-child.ts', bench, String(DIMENSIONS)];
      const [command, ...given] = [...(await schedulingOfNeighbours()), process.execPath, ...program];
      child = spawn(command ?? '', given, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
      const { port } = await hear<{ readonly port: number }>();
      return settings?.(port) ?? [];
    },
    prepare: prepare ?? (() => Promise.resolve()),
    async begin({ client }) {
      child?.send(client.address);
      await hear();
      return () => {
        child?.send('stop');
        return hear();
      };
    },
    close: () => void child?.kill('SIGKILL'),
  };
}
