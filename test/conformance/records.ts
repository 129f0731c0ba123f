import { afterAll, beforeAll, describe } from 'vitest';
import type { RecordStore } from '../../functions/store/port.ts';
import { describeRecordLife } from './records-life.ts';
import { describeRecordQueries } from './records-query.ts';
import { describeRecordScenario } from './records-scenario.ts';
import { type RecordsConformance, recordCollections } from './records-stage.ts';
import { openStore, type TestedStore } from './stores/tested-store.ts';

/** Collections and records against any provider. Each test owns a space. */
export function describeRecords(tested: TestedStore, effort: Omit<RecordsConformance, 'store'>): void {
  describe(`records on ${tested.title}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await openStore(tested, recordCollections);
    });
    afterAll(async () => {
      await store.close();
    });
    const conformance: RecordsConformance = { store: () => store, ...effort };
    describeRecordLife(conformance);
    describeRecordQueries(conformance);
    describeRecordScenario(conformance);
  });
}
