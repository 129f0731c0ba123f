import { afterAll, beforeAll, describe } from 'vitest';
import type { RecordStore } from '../../functions/store/port.ts';
import { describeRetrievalAnswers } from './retrieval-answers.ts';
import { describeRetrievalLife } from './retrieval-life.ts';

export interface RetrievalConformance {
  /** The store under test, open from before the first test to after the last. */
  readonly store: () => RecordStore;
}

/** Retrievals and evaluations over a store: the same answers on every one. */
export function describeRetrieval(name: string, open: () => Promise<RecordStore>, skip?: string): void {
  describe.skipIf(skip !== undefined)(`retrieval on ${name}${skip ?? ''}`, () => {
    let opened: RecordStore | undefined;
    beforeAll(async () => {
      opened = await open();
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
