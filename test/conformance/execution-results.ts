import { describe, expect, it } from 'vitest';
import { VALUES } from '../../functions/runs/records.ts';
import type { KeysSelection, RecordStore, Scope } from '../../functions/store/port.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { HANDLER, ownRuns, working } from './execution-fixtures.ts';
import type { ExecutionConformance } from './execution-suite.ts';

const large = (n: number) => ({ n, text: 'x'.repeat(20_000) });

export function describeResults({ store }: ExecutionConformance): void {
  describe('results that are kept beside their run', () => {
    it('remove the records of earlier results', async () => {
      const { client, scope } = ownRuns(store());
      const { run, work } = await working(client, { payload: large(0) });
      for (const n of [1, 2, 3]) {
        expect((await client.report({ ...work, update: { result: large(n) } })).result).toEqual(large(n));
      }
      await client.report({ ...work, update: { currentStep: 'no result' } });
      expect((await client.get(run.id)).result).toEqual(large(3));
      await client.report({ ...work, update: { result: 'small' } });
      expect((await client.get(run.id)).result).toBe('small');
      await client.complete({ ...work, result: { result: large(4) } });
      const whole = await client.get(run.id);
      expect([whole.payload, whole.result]).toEqual([large(0), large(4)]);
      const { records } = await store().query(scope, {
        by: 'list',
        collection: VALUES,
        group: run.id,
        limit: 10,
      });
      expect(records).toHaveLength(2);
    });

    it.each(['get', 'list'] as const)('are shown with the run that they are of (%s)', async (by) => {
      const { client, scope } = ownRuns(store());
      const { run, work } = await working(client, { payload: large(0) });
      await client.report({ ...work, update: { currentStep: 'first', result: large(1) } });
      let meanwhile = 0;
      const query = async (given: Scope, selection: KeysSelection) => {
        // Between the run, which is read first, and the record that its result is in.
        const first = selection.by === 'keys' ? selection.keys[0]?.key : undefined;
        if (first?.collection === VALUES.name && meanwhile === 0) {
          meanwhile += 1;
          await client.report({ ...work, update: { currentStep: 'second', result: large(2) } });
        }
        return store().query(given, selection);
      };
      const between = patched(store(), { query: query as RecordStore['query'] });
      const reader = ownRuns(between, { scope, node: 2 }).client;
      const [shown] =
        by === 'get'
          ? [await reader.get(run.id)]
          : await reader.list({ handlerId: HANDLER, includeResult: true });
      expect(meanwhile).toBe(1);
      expect(shown).toMatchObject({ currentStep: 'second', payload: large(0), result: large(2) });
    });
  });
}
