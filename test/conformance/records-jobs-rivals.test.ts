import { describe, expect, test } from 'vitest';
import { batchUpsert } from '../../functions/collections/batch-upsert.ts';
import { type ImportJob, importCollection } from '../../functions/collections/import-collection.ts';
import { createCollection } from '../../functions/collections/pointers.ts';
import { readPolicy } from '../../functions/collections/rules/policy.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { RecordsStage, recordsOf } from '../support/records-stage.ts';

/** A process that lost its run without noticing executes it beside the one that took it over. */
describe.each([0, 1, 3, 7])('two processes that execute one job at once, %i turns apart', (turns) => {
  const stageOf = async () => {
    const before = () => new Promise<void>((resolve) => setImmediate(resolve));
    const stage = new RecordsStage(new MemoryStore(new MemoryDatabase(), { before }));
    const instances = [stage.records(), stage.records()] as const;
    await createCollection(instances[0].records, stage.space, readPolicy({ name: 'c' }));
    return { stage, instances };
  };
  const jobOf = (space: string, text: string): ImportJob => ({
    runId: 'run',
    space,
    collection: 'c',
    text: () => Promise.resolve(text),
    signal: new AbortController().signal,
    decide: () => Promise.resolve(),
    judgeReplacement: () => undefined,
    progress: () => Promise.resolve(),
  });
  const apart = async () => {
    for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };

  test('a batch writes and counts each record once', async () => {
    const { stage, instances } = await stageOf();
    const job = jobOf(stage.space, JSON.stringify({ records: recordsOf(350) }));
    const late = async () => {
      await apart();
      return batchUpsert(instances[1].records, job);
    };
    const results = await Promise.all([batchUpsert(instances[0].records, job), late()]);
    for (const { attempted, succeeded, items } of results) {
      expect([attempted, succeeded, items.length]).toEqual([350, 350, 350]);
      expect(new Set(items.map(({ revision }) => revision))).toEqual(new Set([1]));
    }
    expect(await instances[0].count('c')).toBe(350);
  });

  test.each([false, true])('an import does, replaceExisting %s', async (replaceExisting) => {
    const { stage, instances } = await stageOf();
    const snapshot = { collection: 'c', policy: { name: 'c' }, records: recordsOf(250) };
    const job = jobOf(stage.space, JSON.stringify({ snapshot, replaceExisting }));
    const late = async () => {
      await apart();
      return importCollection(instances[1].records, job);
    };
    const results = await Promise.all([importCollection(instances[0].records, job), late()]);
    const policyStatus = replaceExisting ? 'replaced' : 'existing_equivalent';
    for (const result of results) {
      expect(result).toMatchObject({ policyStatus, records: { attempted: 250, succeeded: 250, failed: 0 } });
      const revisions = new Set(result.records.items.map(({ revision }) => revision));
      expect(revisions).toEqual(new Set([1]));
    }
    expect(await instances[0].count('c')).toBe(250);
  });
});

test('a process whose run is over does not flip the name to records that the sweeper removes', async () => {
  const stage = new RecordsStage(new MemoryStore(new MemoryDatabase()));
  const service = stage.records();
  await createCollection(service.records, stage.space, readPolicy({ name: 'c' }));
  const snapshot = { collection: 'c', policy: { name: 'c' }, records: recordsOf(150) };
  let go = (): void => undefined;
  const held = new Promise<void>((resolve) => (go = resolve));
  const late = importCollection(service.records, {
    runId: 'run',
    space: stage.space,
    collection: 'c',
    text: () => Promise.resolve(JSON.stringify({ snapshot, replaceExisting: true })),
    signal: new AbortController().signal,
    decide: () => Promise.resolve(),
    judgeReplacement: () => undefined,
    // The process stands still between its last chunk and the flip.
    progress: ({ attempted }) => (attempted === 150 ? held : Promise.resolve()),
  });
  await stage.quiet();
  stage.time.advance(600_000);
  expect(await service.maintain()).toMatchObject({ retiredCollections: 1, retiredRecords: 150 });
  go();
  await expect(late).rejects.toMatchObject({ code: 'lease_not_active' });
  expect(await service.count('c')).toBe(0);
});
