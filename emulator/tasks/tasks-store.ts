import type { QueueRecord, TaskProgress, TaskRecord } from './model.ts';

/** Persists queues and tasks. Everything is also in memory: the file is read once, at the start. */
export interface TasksStore {
  load(): StoredTasks;
  putQueue(queue: QueueRecord): void;
  /** Drops the queue and its tasks, and reserves the name until then. */
  dropQueue(name: string, heldUntil: number): void;
  putTask(task: TaskRecord): void;
  putProgress(name: string, progress: TaskProgress): void;
  /** Reserves the name until then. */
  endTask(name: string, heldUntil: number): void;
  /** Resolves when all earlier changes survive a crash of the process and of the machine. */
  settled(): Promise<void>;
  /** Closes after all earlier changes are persisted. */
  close(): Promise<void>;
}

export interface StoredTasks {
  readonly queues: readonly QueueRecord[];
  /** In the order of their creation. */
  readonly tasks: readonly TaskRecord[];
  /** Names of ended queues and tasks, and the end of their reservation. */
  readonly held: readonly (readonly [name: string, until: number])[];
}

const nothing = (): void => undefined;
const done = (): Promise<void> => Promise.resolve();

/** Stores nothing. */
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
