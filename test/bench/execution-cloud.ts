import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startTasksEmulator } from '../../emulator/tasks/tasks-emulator.ts';
import { openTaskService } from '../../functions/queue/cloud-tasks/client.ts';
import { CloudTasksQueue, type TaskService } from '../../functions/queue/cloud-tasks/cloud-tasks-queue.ts';
import type { QueueTask } from '../../functions/queue/cloud-tasks/message.ts';
import { cloudStage } from '../support/cloud-queue.ts';
import { dispatchBy } from '../support/execution.ts';
import type { BenchOptions } from './canonical-http.ts';
import { BenchRuntime } from './execution-runtime.ts';
import { type Measurement, measure, medianOf, round } from './load.ts';

const QUEUE = 'projects/bench/locations/local/queues/bench';
const CLIENTS = [1, 32] as const;

/**
 * The cost of the queue beside its bare limit: the official client and the emulator of Cloud Tasks, in this process. The
 * emulator is not the cloud: the ratios say what is ours.
 */
export async function benchExecutionCloud({ seconds, rounds }: BenchOptions): Promise<object> {
  const target = await deliveries();
  const emulator = await startTasksEmulator({
    // More than the service grants: what is measured is the client.
    queues: [{ name: QUEUE, rateLimits: { maxDispatchesPerSecond: 500, maxConcurrentDispatches: 1_000 } }],
  });
  const service = await openTaskService({
    projectId: 'bench',
    emulatorHost: `${emulator.host}:${emulator.port}`,
  });
  const stage = await cloudStage();
  dispatchBy(stage);
  const runtime = await BenchRuntime.open([{ handlerId: 'bench.echo', run: ({ payload }) => payload }]);
  try {
    const created: object[] = [];
    for (const clients of CLIENTS) created.push(await creating(service, { clients, seconds, rounds }));
    return {
      bench: 'execution-cloud',
      measures: {
        create: 'a message made a task that is due in an hour: by the queue, and by the bare client',
        roundTrip:
          'one at a time: a run of the hosted worker from its start to its durable result, on SQLite, and a bare task from its creation to its delivery',
      },
      create: created,
      roundTrip: await roundTrips(service, target, runtime, { seconds, rounds }),
    };
  } finally {
    await runtime.close();
    await stage.stop();
    await service.close();
    await emulator.stop();
    target.close();
  }
}

interface Load {
  readonly clients: number;
  readonly seconds: number;
  readonly rounds: number;
}

async function creating(service: TaskService, { clients, seconds, rounds }: Load): Promise<object> {
  const route = { queue: QUEUE, url: 'http://127.0.0.1:9/', serviceAccountEmail: null, audience: null };
  const clock = { now: () => Date.now() };
  const queue = new CloudTasksQueue({ tasks: () => Promise.resolve(service), routeOf: () => route, clock });
  const ours = () =>
    queue.enqueue({
      runId: randomUUID(),
      handlerId: 'h',
      reason: 'timer_due',
      notBefore: clock.now() + 3_600_000,
      attempt: 0,
    });
  const bare = () => service.create(QUEUE, bareTask('http://127.0.0.1:9/', randomUUID(), 3_600));
  return besides({ clients, seconds, rounds }, ours, bare);
}

async function roundTrips(
  service: TaskService,
  target: Deliveries,
  runtime: BenchRuntime,
  load: Omit<Load, 'clients'>,
): Promise<object> {
  const bare = async () => {
    const id = randomUUID();
    const arrived = target.expect(id);
    await service.create(QUEUE, bareTask(target.url(id), id, 0));
    await arrived;
  };
  return besides({ clients: 1, ...load }, () => runtime.run('bench.echo'), bare);
}

async function besides(
  { clients, seconds, rounds }: Load,
  ours: () => Promise<void>,
  bare: () => Promise<void>,
): Promise<object> {
  const own: Measurement[] = [];
  const limit: Measurement[] = [];
  for (let n = 0; n < rounds; n++) {
    limit.push(await measure({ clients, seconds, warmupSeconds: 1, call: bare }));
    own.push(await measure({ clients, seconds, warmupSeconds: 1, call: ours }));
  }
  const [o, b] = [medianOf(own), medianOf(limit)];
  return { clients, ours: o, bare: b, rateOfBare: round(o.perSecond / b.perSecond) };
}

function bareTask(url: string, id: string, inSeconds: number): QueueTask {
  const seconds = Math.floor(Date.now() / 1_000) + inSeconds;
  return {
    name: `${QUEUE}/tasks/${id}`,
    ...(inSeconds === 0 ? {} : { scheduleTime: { seconds, nanos: 0 } }),
    dispatchDeadline: { seconds: 60 },
    httpRequest: { url, httpMethod: 'POST', headers: {}, body: Buffer.from('{}') },
  };
}

type Deliveries = Awaited<ReturnType<typeof deliveries>>;

/** A target that answers at once, and reports each request. */
async function deliveries() {
  const waiting = new Map<string, () => void>();
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(204).end();
    waiting.get(request.url ?? '')?.();
    waiting.delete(request.url ?? '');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: (id: string) => `http://127.0.0.1:${port}/${id}`,
    expect: (id: string) => new Promise<void>((resolve) => waiting.set(`/${id}`, resolve)),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
