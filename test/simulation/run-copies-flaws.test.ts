import { describe, expect, test } from 'vitest';
import { ALL_RUNS } from '../../functions/runs/copies/archive-lines.fixture.ts';
import type { RunsOf } from '../../functions/runs/copies/archive-lines.ts';
import { restoreRuns } from '../../functions/runs/copies/restore-runs.ts';
import { readRun } from '../../functions/runs/records.ts';
import type { RecordData, RecordStore, Write } from '../../functions/store/port.ts';
import { patched } from '../conformance/canonical-outbox-tenant.ts';
import { archived, begin, goOn, SMALL_INLINE } from '../conformance/execution-copies-runs.ts';
import { ownRuns } from '../conformance/execution-fixtures.ts';
import { roomForBytes } from '../conformance/execution-maintenance-fixtures.ts';
import { MemoryDatabase } from './memory-database.ts';
import { MemoryStore } from './memory-store.ts';

/** The judgement of restored runs finds a restore that forgets something: each flaw is planted into a right one. */

type Flaw = (record: RecordData, old: ReadonlyMap<string, RecordData>) => RecordData | null;

const without =
  (collection: string): Flaw =>
  (record) =>
    record.key.collection === collection ? null : record;

const flaws: Readonly<Record<string, Flaw>> = {
  'a collection that is forgotten: checkpoints': without('checkpoints'),
  'a collection that is forgotten: idempotency keys': without('admissions'),
  'a collection that is forgotten: large values': without('values'),
  'a collection that is forgotten: artifacts': without('artifacts'),
  'counters that are not made again': without('counters'),
  'a lease that is kept': (record, old) => {
    const was = record.key.collection === 'runs' ? old.get(record.key.id) : undefined;
    return was !== undefined && readRun(was).lease !== null ? was : record;
  },
};

async function restored(of: RunsOf, flaw: Flaw): Promise<void> {
  const from = ownRuns(new MemoryStore(new MemoryDatabase()), {
    ...SMALL_INLINE,
    blobs: await roomForBytes(),
  });
  const begun = await begin(from);
  const old = new Map<string, RecordData>();
  const source = await from.instance.runtime.store();
  for await (const { records } of source.scan(from.scope, { collections: ['runs'], pageSize: 10 }))
    for (const record of records) old.set(record.key.id, record);
  const plain = new MemoryStore(new MemoryDatabase());
  async function* spoiled(records: AsyncIterable<RecordData>) {
    for await (const record of records) {
      const kept = flaw(record, old);
      if (kept !== null) yield kept;
    }
  }
  const swap: RecordStore['swap'] = (scope, records, verify) => plain.swap(scope, spoiled(records), verify);
  const transact: RecordStore['transact'] = (scope, request, decide) =>
    plain.transact(scope, request, (found) => {
      const { writes, result } = decide(found);
      const kept = writes.flatMap((write): Write[] => {
        if (!('put' in write)) return [write];
        const put = flaw(write.put, old);
        return put === null ? [] : [{ put }];
      });
      return { writes: kept, result };
    });
  const blobs = await roomForBytes();
  const to = ownRuns(plain, { ...SMALL_INLINE, blobs });
  to.clock.now += 60_000;
  const { archive } = await archived(from, of.tenantId === null ? of : { ...of, tenantId: begun.tenantId });
  const wanted = of.tenantId === null ? of : { ...of, tenantId: begun.tenantId };
  const store = patched(plain, { swap, transact });
  await restoreRuns({ ...to.instance.runtime, store: async () => store }, archive, wanted);
  await goOn(to, begun);
}

describe.each([
  ['all runs', ALL_RUNS],
  ['the runs of a tenant', { tenantId: 'chosen', productId: null }],
])('a restore of %s', (_, of) => {
  test('passes without a flaw', () => restored(of, (record) => record));

  for (const [name, flaw] of Object.entries(flaws))
    test(`is found out for ${name}`, () => expect(restored(of, flaw)).rejects.toThrow());
});
