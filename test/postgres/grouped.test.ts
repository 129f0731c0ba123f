import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listQuestion, planList } from '../../functions/store/list-plan.ts';
import type { ListSelection, RecordData, RecordStore } from '../../functions/store/port.ts';
import { plans } from '../../functions/store/postgres/connection.ts';
import { pageStatement } from '../../functions/store/postgres/list.ts';
import { declared, grouped, keyOf, randomScope, streamOf } from '../conformance/store-fixtures.ts';
import { postgresMissing, postgresSchema } from '../support/postgres.ts';
import { openSession, openStore } from './fixtures.ts';

interface Node {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Node[];
}

const scope = { ...randomScope(), kind: 'spaces' as const };
const groups = ['a', 'b', 'c'].map((letter) => letter.repeat(32));
const asked: Readonly<Record<string, Partial<ListSelection>>> = {
  'all of it': {},
  'an equality': { equal: { type: 'sdoc' } },
  'an equality, from an id on': { equal: { type: 'sdoc' }, afterId: '0300' },
  'a range': { range: { index: 'rank', from: 'n0010', to: 'n0900' }, orderBy: 'rank' },
  'an order': { orderBy: 'rank', direction: 'descending' },
};

describe.skipIf(postgresMissing !== undefined)(
  `a list of one group in PostgreSQL ${postgresMissing ?? ''}`,
  () => {
    const schema = postgresSchema();
    let store: RecordStore;
    beforeAll(async () => {
      store = openStore(schema, { collections: declared });
      await store.swap(scope, streamOf(records()), () => undefined);
    });
    afterAll(() => store.close());

    test.each(Object.entries(asked))('%s: reads no entry of another group', async (_, part) => {
      const selection: ListSelection = {
        by: 'list',
        collection: grouped,
        group: groups[1] ?? '',
        limit: 20,
        ...part,
      };
      const page = await store.query(scope, selection);
      expect(page.records).toHaveLength(20);
      const question = listQuestion(selection);
      if (question === undefined) throw new Error('nothing can match');
      const { text, values } = pageStatement(scope, planList(question, []), 1_000_000);
      const session = await openSession(schema);
      await session.query(`ANALYZE; ${plans}`);
      const { rows } = await session.query<{ 'QUERY PLAN': { Plan: Node }[] }>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
        [...values],
      );
      await session.end();
      const nodes = flat(rows[0]?.['QUERY PLAN'][0]?.Plan);
      const read = nodes.filter((node) => ['records', 'entries'].includes(node['Relation Name'] ?? ''));
      expect(read.length).toBeGreaterThan(0);
      for (const node of read) {
        expect(node['Node Type']).toMatch(/^Index/);
        expect(node['Rows Removed by Filter'] ?? 0).toBe(0);
        expect(node['Actual Rows'] * node['Actual Loops']).toBeLessThan(25);
      }
    });
  },
);

function flat(node: Node | undefined): Node[] {
  return node === undefined ? [] : [node, ...(node.Plans ?? []).flatMap(flat)];
}

function records(): RecordData[] {
  return groups.flatMap((group) =>
    Array.from({ length: 1_000 }, (_, n): RecordData => {
      const id = String(n).padStart(4, '0');
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
