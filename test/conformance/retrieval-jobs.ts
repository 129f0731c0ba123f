import { afterAll, beforeAll, describe, test } from 'vitest';
import type { RecordStore } from '../../functions/store/port.ts';
import { describeRetrievalJobsLife } from './retrieval-jobs-life.ts';

export interface RetrievalJobsConformance {
  readonly store: () => RecordStore;
  /** For what needs two instances over one queue in memory; a queue that delivers knows one address. */
  readonly local: (name: string, run: () => Promise<void>) => void;
}

/** What callers of jobs that evaluate can rely on, against any provider. */
export function describeRetrievalJobs(
  name: string,
  open: () => Promise<RecordStore>,
  { skip, delivers = false }: { readonly skip?: string | undefined; readonly delivers?: boolean } = {},
): void {
  describe.skipIf(skip !== undefined)(`jobs that evaluate on ${name}${skip ?? ''}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await open();
      // `quiet` does not see that a handler loads its code.
      await import('../../functions/groups/retrieval/jobs/run-retrieval-job.ts');
    });
    afterAll(() => store.close());
    describeRetrievalJobsLife({
      store: () => store,
      local: delivers ? () => undefined : (...given) => test(...given),
    });
  });
}
