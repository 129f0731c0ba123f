import { afterAll, beforeAll, describe } from 'vitest';
import type { RecordStore } from '../../functions/store/port.ts';
import { describeRecordLife } from './records-life.ts';
import { describeRecordQueries } from './records-query.ts';
import { describeRecordScenario } from './records-scenario.ts';
import type { RecordsConformance } from './records-stage.ts';

/** Collections and records against any provider. Each test owns a space. */
export function describeRecords(
  name: string,
  open: () => Promise<RecordStore>,
  { skip, ...options }: Omit<RecordsConformance, 'store'> & { readonly skip?: string },
): void {
  describe.skipIf(skip !== undefined)(`records on ${name}${skip ?? ''}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await open();
    });
    afterAll(async () => {
      await store.close();
    });
    const conformance: RecordsConformance = { store: () => store, ...options };
    describeRecordLife(conformance);
    describeRecordQueries(conformance);
    describeRecordScenario(conformance);
  });
}
