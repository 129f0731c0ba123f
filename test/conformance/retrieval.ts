import { afterAll, beforeAll, describe } from 'vitest';
import type { RecordStore } from '../../functions/store/port.ts';
import { describeRetrievalAnswers } from './retrieval-answers.ts';
import { describeRetrievalLife } from './retrieval-life.ts';
import { retrievalCollections } from './retrieval-stage.ts';
import type { RetrievalConformance } from './retrieval-suite.ts';
import { openStore, type TestedStore } from './stores/tested-store.ts';

/** Retrievals and evaluations over a store: the same answers on every one. */
export function describeRetrieval(tested: TestedStore): void {
  describe(`retrieval on ${tested.title}`, () => {
    let opened: RecordStore | undefined;
    beforeAll(async () => {
      opened = await openStore(tested, retrievalCollections);
    });
    afterAll(() => opened?.close());
    const own: RetrievalConformance = {
      store: () => {
        if (opened === undefined) throw new Error('the store is not open');
        return opened;
      },
    };
    describeRetrievalLife(own);
    describeRetrievalAnswers(own);
  });
}
