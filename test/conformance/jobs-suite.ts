import type { RecordStore } from '../../functions/store/port.ts';

export interface JobsConformance {
  readonly store: () => RecordStore;
  /** Runs tests that need two instances over one queue in memory; a queue with deliveries knows one address. */
  readonly local: (name: string, run: () => Promise<void>) => void;
}
