import type { RecordStore } from '../../functions/store/port.ts';

export interface ExecutionConformance {
  /** The store under test, open from before the first test to after the last. Each test owns a scope in it. */
  readonly store: () => RecordStore;
  /** How many rivals a race has: the official Firestore emulator is slow under contention. */
  readonly rivals: number;
  /**
   * Runs tests of work that one process does without a call: it takes runs as they become ready, the oldest first, and
   * knows the waiting calls. A queue with deliveries has no such process, so these tests are skipped there.
   */
  readonly alone: (name: string, run: () => Promise<void>, timeout?: number) => void;
}
