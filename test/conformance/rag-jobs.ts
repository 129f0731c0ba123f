import { afterAll, beforeAll, describe } from 'vitest';
import type { RecordStore } from '../../functions/store/port.ts';
import { describeRagJobsLife } from './rag-jobs-life.ts';
import { describeRagRivals } from './rag-jobs-rivals.ts';

/** What callers of ingestion jobs can rely on, against any provider. */
export function describeRagJobs(name: string, open: () => Promise<RecordStore>, skip?: string): void {
  describe.skipIf(skip !== undefined)(`ingestion jobs on ${name}${skip ?? ''}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await open();
      // `quiet` does not see that a handler loads its code.
      await import('../../functions/groups/rag/jobs/run-rag-job.ts');
    });
    afterAll(() => store.close());
    describeRagJobsLife(() => store);
    describeRagRivals(() => store);
  });
}
