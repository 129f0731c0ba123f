import { afterAll, beforeAll, describe, test } from 'vitest';
import { declaredCollections } from '../../functions/compose/collections.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import type { JobsConformance } from './jobs-suite.ts';
import { describeJobAccess } from './records-jobs-access.ts';
import { describeBatches } from './records-jobs-batches.ts';
import { describeCollectionJobs } from './records-jobs-collections.ts';
import { describeImports } from './records-jobs-imports.ts';
import { describeStaging } from './records-jobs-staging.ts';
import { openStore, type TestedStore } from './stores/tested-store.ts';

/** The guarantees that jobs on collections and records give their callers, on every provider of storage. */
export function describeRecordJobs(tested: TestedStore): void {
  describe(`jobs of collections and records on ${tested.title}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await openStore(tested, declaredCollections);
      // `quiet` does not see that a handler loads its code.
      await Promise.all([
        import('../../functions/groups/records/library/run-record-job.ts'),
        import('../../functions/groups/collections/run-collection-job.ts'),
      ]);
    });
    afterAll(() => store.close());
    const conformance: JobsConformance = {
      store: () => store,
      local: tested.delivers ? () => undefined : (...given) => test(...given),
    };
    describeCollectionJobs(conformance);
    describeBatches(conformance);
    describeImports(conformance);
    describeStaging(conformance);
    describeJobAccess(conformance);
  });
}
