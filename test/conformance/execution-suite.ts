import type { RecordStore } from '../../functions/store/port.ts';

export interface ExecutionConformance {
  /** The store under test, open from before the first test to after the last. Each test owns a scope in it. */
  readonly store: () => RecordStore;
  /** How many rivals a race has: the official Firestore emulator is slow under contention. */
  readonly rivals: number;
  /**
   * For what one process does by itself: it takes runs as they become ready, the oldest first, and knows who waits for them.
   * Where a queue delivers there is no such process, and no test of it.
   */
  readonly alone: (name: string, run: () => Promise<void>, timeout?: number) => void;
}
