import type { QueueRecord, TaskProgress, TaskRecord } from './model.ts';

/** Where queues and tasks outlive the process. Everything is also in memory: it is read once, at the start. */
export interface TasksStore {
  load(): StoredTasks;
  putQueue(queue: QueueRecord): void;
  /** With all its tasks. The name is held until then. */
  dropQueue(name: string, heldUntil: number): void;
  putTask(task: TaskRecord): void;
  putProgress(name: string, progress: TaskProgress): void;
  /** The name is held until then. */
  endTask(name: string, heldUntil: number): void;
  /** Resolves when everything that was said so far survives the end of the process and of the machine. */
  settled(): Promise<void>;
  /** After what was said so far is settled. */
  close(): Promise<void>;
}

export interface StoredTasks {
  readonly queues: readonly QueueRecord[];
  /** In the order in which they were created. */
  readonly tasks: readonly TaskRecord[];
  /** Names of queues and tasks that have ended, and until when they are held. */
  readonly held: readonly (readonly [name: string, until: number])[];
}

const nothing = (): void => undefined;
const done = (): Promise<void> => Promise.resolve();

/** Keeps nothing. */
export const memoryTasksStore: TasksStore = {
  load: () => ({ queues: [], tasks: [], held: [] }),
  putQueue: nothing,
  dropQueue: nothing,
  putTask: nothing,
  putProgress: nothing,
  endTask: nothing,
  settled: done,
  close: done,
};
