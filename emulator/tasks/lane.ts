import { DispatchRate } from './dispatch-rate.ts';
import type { QueueRecord, TaskRecord } from './model.ts';

/** A task in memory. */
export interface HeldTask {
  record: TaskRecord;
  /** Cancels the timer for the task's time. */
  disarm: (() => void) | null;
  /** The task or its queue has ended. Results of an active attempt are ignored. */
  gone: boolean;
}

/** A queue in memory with its tasks and its ready tasks. */
export class Lane {
  record: QueueRecord;
  readonly tasks = new Map<string, HeldTask>();
  /** In the order in which they became due. */
  readonly ready = new Set<HeldTask>();
  readonly rate: DispatchRate;
  /** The number of active attempts. */
  running = 0;
  /** Cancels the timer for the next token. */
  disarm: (() => void) | null = null;

  constructor(record: QueueRecord, now: number) {
    this.record = record;
    this.rate = new DispatchRate(record.rateLimits, now);
  }

  /** Cancels a task's timer and removes it from the ready tasks. */
  withdraw(task: HeldTask): void {
    this.ready.delete(task);
    task.disarm?.();
    task.disarm = null;
  }

  remove(task: HeldTask): void {
    this.withdraw(task);
    task.gone = true;
    this.tasks.delete(task.record.name);
  }

  /** Clears a queue that was deleted. */
  clear(): void {
    for (const task of this.tasks.values()) this.remove(task);
    this.disarm?.();
    this.disarm = null;
  }
}

/** Reserved names. Every name is reserved for the same time, so the oldest expire first. */
export class HeldNames {
  readonly #until = new Map<string, number>();

  hold(name: string, until: number, now: number): void {
    this.#until.delete(name);
    this.#until.set(name, until);
    for (const [oldest, at] of this.#until) {
      if (at > now) break;
      this.#until.delete(oldest);
    }
  }

  isHeld(name: string, now: number): boolean {
    return (this.#until.get(name) ?? Number.NEGATIVE_INFINITY) > now;
  }

  /** Releases all names with this prefix. */
  forgetAll(prefix: string): void {
    for (const name of this.#until.keys()) if (name.startsWith(prefix)) this.#until.delete(name);
  }
}

export function firstOf<Item>(items: Iterable<Item>, count: number): Item[] {
  const first: Item[] = [];
  for (const item of items) {
    if (first.length === count) break;
    first.push(item);
  }
  return first;
}
