import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ListSelection, RecordData } from '../../functions/store/port.ts';
import { declared, grouped, keyOf } from '../conformance/store-fixtures.ts';
import { firestoreMissing } from '../support/firestore.ts';
import { countBill } from './bill-counter.ts';
import { openTestStore, streamOf } from './fixtures.ts';

const scope = { kind: 'spaces', name: 'default' } as const;
const groups = ['a', 'b', 'c'].map((letter) => letter.repeat(32));
const asked: Readonly<Record<string, Partial<ListSelection>>> = {
  'all of it': {},
  'an equality': { equal: { type: 'sdoc' } },
  'an equality, from an id on': { equal: { type: 'sdoc' }, afterId: '05' },
  'a range': { range: { index: 'rank', from: 'n05', to: 'n40' }, orderBy: 'rank' },
};

describe.skipIf(firestoreMissing !== undefined)(
  `a list of one group in Firestore ${firestoreMissing ?? ''}`,
  () => {
    const { store, client } = openTestStore({ collections: declared });
    const bill = countBill(client);
    beforeAll(() => store.swap(scope, streamOf(records()), () => undefined));
    afterAll(() => store.close());

    test.each(Object.entries(asked))(
      '%s: reads the head and what it shows, and one more',
      async (_, part) => {
        await store.query(scope, { by: 'keys', keys: [] });
        bill.take();
        const selection: ListSelection = {
          by: 'list',
          collection: grouped,
          group: groups[1] ?? '',
          limit: 20,
          ...part,
        };
        expect((await store.query(scope, selection)).records).toHaveLength(20);
        expect(bill.take()).toEqual({ calls: 2, reads: 22, writes: 0, deletes: 0 });
      },
    );

    test('keeps entries within the group alone', async () => {
      const [document] = (await client.collectionGroup('records').limit(1).get()).docs;
      // Two listings of the group, and one entry for each of two indexes.
      expect(Object.keys(document?.get('order') as object)).toHaveLength(4);
    });
  },
);

function records(): RecordData[] {
  return groups.flatMap((group) =>
    Array.from({ length: 50 }, (_, n): RecordData => {
      const id = String(n).padStart(2, '0');
      const indexes = { type: 'sdoc', rank: `n${id}` };
      return {
        key: keyOf(`${group}/${id}`, grouped),
        head: {},
        body: '{}',
        listing: { group, id, hidden: false, indexes },
      };
    }),
  );
}
