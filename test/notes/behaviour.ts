import { afterAll, beforeAll, describe, test } from 'vitest';
import type { RecordStore } from '../../functions/store/port.ts';
import type { JobsConformance } from '../conformance/jobs-suite.ts';
import { describeAdmission } from './behaviour-admission.ts';
import { describeJobLife } from './behaviour-life.ts';
import { describeViews } from './behaviour-views.ts';

/** The guarantees for a group with a write, a read and a job, on every provider. */
export function describeNotes(
  name: string,
  open: () => Promise<RecordStore>,
  options: { readonly skip?: string | undefined; readonly delivers?: boolean } = {},
): void {
  describe.skipIf(options.skip !== undefined)(`jobs of a group on ${name}${options.skip ?? ''}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await open();
    });
    afterAll(() => store.close());
    const conformance: JobsConformance = {
      store: () => store,
      local: options.delivers === true ? () => undefined : (...given) => test(...given),
    };
    describeAdmission(conformance);
    describeViews(conformance);
    describeJobLife(conformance);
  });
}
