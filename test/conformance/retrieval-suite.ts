import type { RecordStore } from '../../functions/store/port.ts';

export interface RetrievalConformance {
  /** The store under test, open from before the first test to after the last. */
  readonly store: () => RecordStore;
}
