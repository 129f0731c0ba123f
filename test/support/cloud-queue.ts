import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { startOidcIssuer } from '../../emulator/oidc-issuer.ts';
import { startTasksEmulator } from '../../emulator/tasks/tasks-emulator.ts';
import { machine } from '../../functions/compose/machine.ts';
import type { World } from '../../functions/kernel/world.ts';
import { openTaskService } from '../../functions/queue/cloud-tasks/client.ts';
import { CloudTasksQueue, type TaskService } from '../../functions/queue/cloud-tasks/cloud-tasks-queue.ts';
import type { QueueTask } from '../../functions/queue/cloud-tasks/message.ts';
import type { RunQueue } from '../../functions/queue/port.ts';
import type { Delivered } from '../../functions/runs/engine.ts';

const QUEUE = 'projects/demo-svc/locations/local/queues/svc-runs';

/**
 * Cloud Tasks for the instances of a test file: the emulator over its real protocol, and a server that takes the deliveries of
 * all of them. An instance with a world of its own has an emulator in that world.
 */
export interface CloudStage {
  queueOf(instance: CloudInstance): Promise<RunQueue>;
  /** Resolves when every message of the world whose time has come was delivered. */
  arrived(world: World): Promise<void>;
  /** Resolves when they also were handled, handlers included. */
  handled(world: World): Promise<void>;
  stop(): Promise<void>;
}

export interface CloudInstance {
  readonly world: World;
  readonly hint: (handlerId: string) => void;
  readonly deliver: (runId: string) => Promise<Delivered>;
}

export async function cloudStage(): Promise<CloudStage> {
  const instances = new Map<string, Known>();
  const worlds = new Map<World, Messages>();
  const stops: (() => Promise<unknown>)[] = [];
  const server = createServer((request, response) => void answer(instances, request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  // Making a key and opening a client take long: all emulators share an issuer, all instances of a world share a client.
  const issuer = await startOidcIssuer();
  const services = new Map<World, Promise<TaskService>>();
  const open = async (world: World): Promise<TaskService> => {
    const { clock, random, timers } = world;
    const emulator = await startTasksEmulator({
      issuer,
      queues: [{ name: QUEUE, retryConfig: { maxAttempts: -1, maxBackoff: { seconds: 1 } } }],
      stopGraceMs: 0,
      ...(world === machine ? {} : { world: { clock, random, timers } }),
    });
    stops.push(() => emulator.stop());
    const emulatorHost = `${emulator.host}:${emulator.port}`;
    const service = await openTaskService({ projectId: 'demo-svc', emulatorHost });
    stops.unshift(() => service.close());
    return service;
  };
  const serviceIn = (world: World): Promise<TaskService> => {
    const service = services.get(world) ?? open(world);
    services.set(world, service);
    return service;
  };
  return {
    queueOf(instance) {
      const key = `/${instances.size}`;
      const messages = worlds.get(instance.world) ?? new Messages();
      worlds.set(instance.world, messages);
      instances.set(key, { instance, messages });
      const route = {
        queue: QUEUE,
        url: `http://127.0.0.1:${port}${key}`,
        serviceAccountEmail: null,
        audience: null,
      };
      const { clock } = instance.world;
      const create = async (queue: string, task: QueueTask) => {
        messages.sent(task, () => clock.now());
        await messages.during(serviceIn(instance.world).then((service) => service.create(queue, task)));
      };
      const counting = { create, close: () => Promise.resolve() };
      const tasks = () => Promise.resolve(counting);
      const queue = new CloudTasksQueue({ tasks, routeOf: () => route, clock, hint: instance.hint });
      return Promise.resolve(queue);
    },
    arrived: async (world) => worlds.get(world)?.arrived(),
    handled: async (world) => worlds.get(world)?.handled(),
    async stop() {
      for (const stop of stops) await stop();
      await issuer.stop();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The messages in transit, by the names of the tasks. */
class Messages {
  readonly #seen = new Set<string>();
  readonly #under = new Map<string, () => boolean>();
  #sending = 0;
  #handling = 0;
  #changed = Promise.withResolvers<void>();

  sent({ name, scheduleTime }: QueueTask, now: () => number): void {
    if (this.#seen.has(name)) return;
    this.#seen.add(name);
    const at = scheduleTime === undefined ? 0 : scheduleTime.seconds * 1_000 + scheduleTime.nanos / 1e6;
    this.#under.set(name, () => at <= now());
  }

  came(id: string): void {
    this.#under.delete(`${QUEUE}/tasks/${id}`);
    this.#tell();
  }

  /** Counts the messages being sent: the sender continues once its message is sent. */
  async during(sending: Promise<void>): Promise<void> {
    this.#sending += 1;
    try {
      await sending;
    } finally {
      this.#sending -= 1;
      this.#tell();
    }
  }

  /** Counts the deliveries that are being handled. */
  async handle<T>(handling: Promise<T>): Promise<T> {
    this.#handling += 1;
    try {
      return await handling;
    } finally {
      this.#handling -= 1;
      this.#tell();
    }
  }

  async handled(): Promise<void> {
    await this.arrived();
    while (this.#handling > 0) {
      await this.#changed.promise;
      await this.arrived();
    }
  }

  async arrived(): Promise<void> {
    while (this.#sending > 0 || [...this.#under.values()].some((isDue) => isDue()))
      await this.#changed.promise;
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }
}

interface Known {
  readonly instance: CloudInstance;
  readonly messages: Messages;
}

async function answer(
  instances: ReadonlyMap<string, Known>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const { runId } = JSON.parse(await text(request)) as { readonly runId: string };
    const known = instances.get(request.url ?? '');
    const delivering = known?.messages.handle(known.instance.deliver(runId));
    known?.messages.came(String(request.headers['x-cloudtasks-taskname']));
    const delivered = (await delivering) ?? 'nothing';
    response.statusCode = delivered === 'busy' || delivered === 'left' ? 503 : 204;
  } catch {
    response.statusCode = 500;
  }
  response.end();
}
