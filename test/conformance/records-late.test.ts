import { expect, test } from 'vitest';
import { type ImportJob, importCollection } from '../../functions/collections/import-collection.ts';
import { announceLedger, sweepLeftovers } from '../../functions/collections/leftovers.ts';
import { readCollection } from '../../functions/collections/read-policy.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { RecordsStage, recordsOf } from '../support/records-stage.ts';

const DAY_MS = 86_400_000;

/** A store that calls `then` after its `at`-th transaction in a system scope. */
function interrupted(inner: RecordStore, at: number, then: () => void): RecordStore {
  let count = 0;
  return new Proxy(inner, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return async (...given: unknown[]) => {
        const answer: unknown = await Reflect.apply(member, target, given);
        if (name === 'transact' && (given[0] as { readonly kind: string }).kind === 'system') {
          count += 1;
          if (count === at) then();
        }
        return answer;
      };
    },
  });
}

function replacement(stage: RecordsStage, given: Partial<ImportJob> = {}): ImportJob {
  const snapshot = { collection: 'c', policy: { name: 'c' }, records: recordsOf(3) };
  return {
    runId: 'run',
    space: stage.space,
    collection: 'c',
    text: () => Promise.resolve(JSON.stringify({ snapshot, replaceExisting: true })),
    signal: new AbortController().signal,
    decide: () => Promise.resolve(),
    judgeReplacement: () => undefined,
    progress: () => Promise.resolve(),
    ...given,
  };
}

test('an import that was held up until its announcement may be swept loads nothing', async () => {
  const stage = new RecordsStage(new MemoryStore(new MemoryDatabase()));
  // The first transaction announces the ledger, the second the incarnation.
  const over = interrupted(stage.store, 2, () => stage.time.advance(700_000));
  const { records } = stage.records({ over });
  await expect(importCollection(records, replacement(stage))).rejects.toMatchObject({
    code: 'lease_not_active',
  });
  expect(await readCollection(records, stage.space, 'c')).toBeNull();
});

test('an import that is cancelled after its last record replaces nothing', async () => {
  const stage = new RecordsStage(new MemoryStore(new MemoryDatabase()));
  const { records } = stage.records();
  const cancelled = new AbortController();
  const progress: ImportJob['progress'] = async ({ attempted, requested }) => {
    if (attempted === requested) cancelled.abort(new Error('cancelled'));
  };
  const job = replacement(stage, { signal: cancelled.signal, progress });
  await expect(importCollection(records, job)).rejects.toThrow('cancelled');
  expect(await readCollection(records, stage.space, 'c')).toBeNull();
});

test('ledgers of runs that still exist do not keep the others waiting', async () => {
  const stage = new RecordsStage(new MemoryStore(new MemoryDatabase()));
  const { records: parts, payloads } = stage.records();
  for (let run = 0; run < 250; run += 1) await announceLedger(parts, stage.space, `run-${run}`);
  stage.time.advance(DAY_MS);
  const sweep = {
    parts,
    payloads,
    isPayloadUsed: () => Promise.resolve(false),
    runExists: (runId: string) => Promise.resolve(Number(runId.slice('run-'.length)) < 200),
  };
  expect(await sweepLeftovers(sweep, () => false)).toBe(50);
  expect(await sweepLeftovers(sweep, () => false)).toBe(0);
});
