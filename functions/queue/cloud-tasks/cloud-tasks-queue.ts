import type { Clock } from '../../kernel/world.ts';
import type { RunMessage, RunQueue } from '../port.ts';
import { type QueueTask, taskOf, type WorkerRoute } from './message.ts';

/** The part of the Cloud Tasks service that the queue uses. */
export interface TaskService {
  /** Also resolves if a task of this name exists or existed: the message is on its way. */
  create(queue: string, task: QueueTask): Promise<void>;
  close(): Promise<void>;
}

export interface CloudTasksQueueOptions {
  /** Opened with the first message. */
  readonly tasks: () => Promise<TaskService>;
  /** `null` for a handler without a configured worker. */
  readonly routeOf: (handlerId: string) => WorkerRoute | null;
  readonly clock: Clock;
  /** Called for a ready run before the task is created: a call of this process may wait for it. */
  readonly hint?: (handlerId: string) => void;
}

/**
 * Sends run ids to workers as tasks of Cloud Tasks. A lease of an external worker also schedules a task for its
 * expiry; a worker that receives it early, because the lease was renewed, requeues it. A delivery to the hosted
 * worker stays open while it executes, and needs none.
 */
export class CloudTasksQueue implements RunQueue {
  readonly delivers = true;
  readonly #options: CloudTasksQueueOptions;

  constructor(options: CloudTasksQueueOptions) {
    this.#options = options;
  }

  async enqueue(message: RunMessage): Promise<void> {
    const { clock, hint, routeOf, tasks } = this.#options;
    // A task for each heartbeat would cost too much. The task for the old expiry finds the renewed lease.
    if (message.renewed === true) return;
    const now = clock.now();
    if (message.notBefore <= now) hint?.(message.handlerId);
    const route = routeOf(message.handlerId);
    if (route === null) throw new Error('no worker is configured for the handler of a run');
    const service = await tasks();
    await service.create(route.queue, taskOf(message, route, now));
  }
}
