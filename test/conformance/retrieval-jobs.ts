import { afterAll, beforeAll, describe, test } from 'vitest';
import { declaredCollections } from '../../functions/compose/collections.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { describeRetrievalJobsLife } from './retrieval-jobs-life.ts';
import { openStore, type TestedStore } from './stores/tested-store.ts';

/** The guarantees that evaluation jobs give their callers, on every provider of storage. */
export function describeRetrievalJobs(tested: TestedStore): void {
  describe(`jobs that evaluate on ${tested.title}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await openStore(tested, declaredCollections);
      // `quiet` does not see that a handler loads its code.
      await import('../../functions/groups/retrieval/jobs/run-retrieval-job.ts');
    });
    afterAll(() => store.close());
    describeRetrievalJobsLife({
      store: () => store,
      local: tested.delivers ? () => undefined : (...given) => test(...given),
    });
  });
}
