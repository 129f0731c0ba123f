import type { RandomSource } from '../../functions/kernel/world.ts';
import { Dispatcher, type DispatcherOptions, type DispatchWorld } from './dispatcher.ts';
import { HeldNames, type HeldTask, Lane } from './lane.ts';
import type { QueueRecord, TaskRecord } from './model.ts';
import { queueOfTask } from './names.ts';
import { CallRefusal } from './refusal.ts';
import { isTooOld } from './task-life.ts';
import type { TasksStore } from './tasks-store.ts';

export interface TasksWorld extends DispatchWorld {
  readonly random: RandomSource;
}

export interface TasksStateOptions extends Omit<DispatcherOptions, 'end' | 'world'> {
  readonly world: TasksWorld;
  readonly taskNameHeldMs: number;
  readonly queueNameHeldMs: number;
}

/** All queues and tasks, shared by the calls and the dispatcher. */
export class TasksState {
  readonly world: TasksWorld;
  readonly store: TasksStore;
  readonly dispatcher: Dispatcher;
  readonly lanes = new Map<string, Lane>();
  readonly #options: TasksStateOptions;
  readonly #heldQueues = new HeldNames();
  readonly #heldTasks = new HeldNames();
  readonly #stored: { readonly lane: Lane; readonly task: HeldTask }[] = [];
  #lastNumber = 0;

  constructor(options: TasksStateOptions) {
    this.#options = options;
    this.world = options.world;
    this.store = options.store;
    this.dispatcher = new Dispatcher({ ...options, end: (lane, task) => this.endTask(lane, task) });
    this.#load();
  }

  /** Starts to send the stored tasks, the oldest first. */
  start(): void {
    const stored = this.#stored.splice(0);
    stored.sort((left, right) => scheduledAt(left.task) - scheduledAt(right.task));
    for (const { lane, task } of stored) this.dispatcher.schedule(lane, task);
  }

  /** Stops sending, waits for active attempts, and closes the store and the targets. */
  async stop(graceMs: number): Promise<void> {
    await this.dispatcher.stop(graceMs);
    for (const lane of this.lanes.values()) lane.clear();
    await this.store.close();
  }

  now(): number {
    return this.world.clock.now();
  }

  lane(name: string): Lane {
    const lane = this.lanes.get(name);
    if (lane === undefined) throw new CallRefusal('notFound', 'Queue does not exist.');
    return lane;
  }

  addQueue(record: QueueRecord): Lane {
    if (this.#heldQueues.isHeld(record.name, this.now()))
      throw new CallRefusal(
        'failedPrecondition',
        'The queue cannot be created because a queue with this name existed too recently.',
      );
    const lane = new Lane(record, this.now());
    this.lanes.set(record.name, lane);
    this.store.putQueue(record);
    return lane;
  }

  putQueue(lane: Lane, record: QueueRecord): void {
    lane.rate.fill(lane.record.rateLimits, this.now());
    lane.record = record;
    this.store.putQueue(record);
    lane.disarm?.();
    lane.disarm = null;
    this.dispatcher.pump(lane);
  }

  dropQueue(lane: Lane): void {
    const { name } = lane.record;
    lane.clear();
    this.lanes.delete(name);
    this.#heldTasks.forgetAll(`${name}/`);
    const until = this.now() + this.#options.queueNameHeldMs;
    this.#heldQueues.hold(name, until, this.now());
    this.store.dropQueue(name, until);
  }

  /** Whether a task exists under this name, or the name of an ended one is still reserved. */
  isTaken(lane: Lane, name: string): boolean {
    this.#endOld(lane, lane.tasks.get(name));
    return lane.tasks.has(name) || this.#heldTasks.isHeld(name, this.now());
  }

  addTask(lane: Lane, given: Omit<TaskRecord, 'number'>): HeldTask {
    const record = { ...given, number: this.#lastNumber + 1 };
    this.store.putTask(record);
    return this.#take(lane, record);
  }

  task(name: string): { readonly lane: Lane; readonly task: HeldTask } {
    const lane = this.lane(queueOfTask(name));
    this.#endOld(lane, lane.tasks.get(name));
    const task = lane.tasks.get(name);
    if (task !== undefined) return { lane, task };
    throw new CallRefusal('notFound', 'The task does not exist, or no longer.');
  }

  /** In the order of their creation. */
  tasks(lane: Lane): Iterable<HeldTask> {
    for (const task of lane.tasks.values()) if (!this.#endOld(lane, task)) break;
    return lane.tasks.values();
  }

  endTask(lane: Lane, task: HeldTask): void {
    const { name } = task.record;
    lane.remove(task);
    const until = this.now() + this.#options.taskNameHeldMs;
    this.#heldTasks.hold(name, until, this.now());
    this.store.endTask(name, until);
  }

  #load(): void {
    const { queues, tasks, held } = this.store.load();
    const now = this.now();
    for (const queue of queues) this.lanes.set(queue.name, new Lane(queue, now));
    for (const [name, until] of held)
      (name.includes('/tasks/') ? this.#heldTasks : this.#heldQueues).hold(name, until, now);
    for (const record of tasks) {
      const lane = this.lanes.get(queueOfTask(record.name));
      if (lane !== undefined) this.#stored.push({ lane, task: this.#take(lane, record) });
    }
  }

  #take(lane: Lane, record: TaskRecord): HeldTask {
    this.#lastNumber = record.number;
    const task: HeldTask = { record, disarm: null, gone: false };
    lane.tasks.set(record.name, task);
    return task;
  }

  /** No timer ends old tasks: a read or a dispatch finds their age and ends them. */
  #endOld(lane: Lane, task: HeldTask | undefined): boolean {
    if (task === undefined || !isTooOld(task.record, this.now())) return false;
    this.endTask(lane, task);
    return true;
  }
}

function scheduledAt({ record }: HeldTask): number {
  return record.progress.scheduledAt;
}
