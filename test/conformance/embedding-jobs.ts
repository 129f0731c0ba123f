import { afterAll, beforeAll, describe, test } from 'vitest';
import { declaredCollections } from '../../functions/compose/collections.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { describeEmbeddingLife } from './embedding-jobs-life.ts';
import { describeEmbeddingRefusals } from './embedding-jobs-refusals.ts';
import { describeEmbeddingTurns } from './embedding-jobs-turns.ts';
import { describeEmbeddingRetention } from './embedding-retention.ts';
import type { JobsConformance } from './jobs-suite.ts';
import { openStore, type TestedStore } from './stores/tested-store.ts';

/** The guarantees that embedding jobs give their callers, on every provider of storage. */
export function describeEmbeddingJobs(tested: TestedStore): void {
  describe(`embedding jobs on ${tested.title}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await openStore(tested, declaredCollections);
      // `quiet` does not see that a handler loads its code.
      await import('../../functions/groups/embeddings/jobs/run-embedding-job.ts');
    });
    afterAll(() => store.close());
    const conformance: JobsConformance = {
      store: () => store,
      local: tested.delivers ? () => undefined : (...given) => test(...given),
    };
    describeEmbeddingLife(conformance);
    describeEmbeddingRefusals(conformance);
    describeEmbeddingTurns(conformance);
    describeEmbeddingRetention(() => store);
  });
}
