import type { Clock } from '../../kernel/world.ts';
import type { RunMessage, RunQueue } from '../port.ts';
import { type QueueTask, taskOf, type WorkerRoute } from './message.ts';

/** What the queue asks of the service. */
export interface TaskService {
  /** Resolves as well where a task of this name is there, or was: the message is on its way then. */
  create(queue: string, task: QueueTask): Promise<void>;
  close(): Promise<void>;
}

export interface CloudTasksQueueOptions {
  /** Opened by the first message. */
  readonly tasks: () => Promise<TaskService>;
  /** `null` for a handler that no worker is configured for. */
  readonly routeOf: (handlerId: string) => WorkerRoute | null;
  readonly clock: Clock;
  /** Told of what can be worked on now, before the service is: a call of this process may wait for it. */
  readonly hint?: (handlerId: string) => void;
}

/**
 * Runs reach their workers as tasks of Cloud Tasks: each carries a run's id and why, and the worker leases the run from the
 * store. The end of a lease is a task as well, made when a worker outside takes it: who is told of it finds a lease that was
 * renewed meanwhile still holding, and has the new end told of. The hosted worker is held by the delivery itself.
 */
export class CloudTasksQueue implements RunQueue {
  readonly delivers = true;
  readonly #options: CloudTasksQueueOptions;

  constructor(options: CloudTasksQueueOptions) {
    this.#options = options;
  }

  async enqueue(message: RunMessage): Promise<void> {
    const { clock, hint, routeOf, tasks } = this.#options;
    // A task for each heartbeat would cost more than what they keep alive.
    if (message.renewed === true) return;
    const now = clock.now();
    if (message.notBefore <= now) hint?.(message.handlerId);
    const route = routeOf(message.handlerId);
    if (route === null) throw new Error('no worker is configured for the handler of a run');
    const service = await tasks();
    await service.create(route.queue, taskOf(message, route, now));
  }
}
