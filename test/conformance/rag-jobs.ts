import { afterAll, beforeAll, describe } from 'vitest';
import { declaredCollections } from '../../functions/compose/collections.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { describeRagJobsLife } from './rag-jobs-life.ts';
import { describeRagRivals } from './rag-jobs-rivals.ts';
import { openStore, type TestedStore } from './stores/tested-store.ts';

/** The guarantees that ingestion jobs give their callers, on every provider of storage. */
export function describeRagJobs(tested: TestedStore): void {
  describe(`ingestion jobs on ${tested.title}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await openStore(tested, declaredCollections);
      // `quiet` does not see that a handler loads its code.
      await import('../../functions/groups/rag/jobs/run-rag-job.ts');
    });
    afterAll(() => store.close());
    describeRagJobsLife(() => store);
    describeRagRivals(() => store);
  });
}
