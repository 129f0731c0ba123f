import type { RecordStore } from '../../functions/store/port.ts';

export interface JobsConformance {
  readonly store: () => RecordStore;
  /** For what needs two instances over one queue in memory; a queue that delivers knows one address. */
  readonly local: (name: string, run: () => Promise<void>) => void;
}
