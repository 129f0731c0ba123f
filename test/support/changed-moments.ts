import type {
  KeysSelection,
  ListSelection,
  Moment,
  RecordPage,
  RecordStore,
} from '../../functions/store/port.ts';
import { patched } from '../conformance/canonical-outbox-tenant.ts';

export type MomentSelection = KeysSelection | ListSelection;
type Change = (selection: MomentSelection, found: RecordPage) => RecordPage | Promise<RecordPage>;

/** A store that answers the reads of a moment after a test has seen or changed them. */
export function changedMoments(store: RecordStore, change: Change): RecordStore {
  return patched(store, {
    snapshot: (scope, body) =>
      store.snapshot(scope, (moment) => {
        const query = async (selection: MomentSelection) => change(selection, await moment.query(selection));
        return body({ ...moment, query: query as unknown as Moment['query'] });
      }),
  });
}
