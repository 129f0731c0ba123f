import type { RecordStore } from '../../functions/store/port.ts';

export interface Conformance {
  /** The store under test, open from before the first test to after the last. */
  readonly store: () => RecordStore;
  /** How many rivals a race has: the official Firestore emulator is slow under contention. */
  readonly rivals: number;
}
