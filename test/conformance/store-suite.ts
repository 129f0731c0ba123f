import type { RecordStore } from '../../functions/store/port.ts';

/** Shared by all parts of the suite: one opened store, and the amount of work per test. */
export interface StoreSuite {
  store(): RecordStore;
  /** Opens another store over the same database. */
  another(): Promise<RecordStore>;
  readonly scale: SuiteScale;
  readonly tornReads: string | undefined;
}

export interface SuiteScale {
  readonly contenders: number;
  /** Turns that each contender takes. */
  readonly turns: number;
  /** Lists compared with brute force, for each data set. */
  readonly listCases: number;
  readonly listRecords: number;
  /** Zero leaves the long list out. */
  readonly longListRecords: number;
  readonly swapRecords: number;
  /** Random writes and finds that are compared with the model. */
  readonly findCases: number;
}
