import { DispatchRate } from './dispatch-rate.ts';
import type { QueueRecord, TaskRecord } from './model.ts';

/** A task in memory. */
export interface HeldTask {
  record: TaskRecord;
  /** Takes back the timer that waits for its time. */
  disarm: (() => void) | null;
  /** It has ended, or its queue has. What is still under way of it changes nothing any more. */
  gone: boolean;
}

/** A queue in memory: its tasks, and those whose time has come. */
export class Lane {
  record: QueueRecord;
  readonly tasks = new Map<string, HeldTask>();
  /** In the order in which they became due. */
  readonly ready = new Set<HeldTask>();
  readonly rate: DispatchRate;
  /** Attempts under way. */
  running = 0;
  /** Takes back the timer that waits for a token. */
  disarm: (() => void) | null = null;

  constructor(record: QueueRecord, now: number) {
    this.record = record;
    this.rate = new DispatchRate(record.rateLimits, now);
  }

  /** Takes a task off whatever it waits for. */
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

  /** Of a queue that is no more. */
  clear(): void {
    for (const task of this.tasks.values()) this.remove(task);
    this.disarm?.();
    this.disarm = null;
  }
}

/** Names that cannot be taken again yet. Each kind is held for the same time, so that the oldest are the first to be free. */
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

  /** Forgets the names that begin so. */
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
