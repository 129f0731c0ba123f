import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import { executionCollections } from '../../functions/runs/records.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { recordCollections } from '../conformance/records-stage.ts';
import { INGEST_CASES, killedAtEveryCall, killedTwice } from './ingest-faults.ts';
import { INGEST_FLAWS } from './ingest-flaws.ts';
import { MemoryDatabase } from './memory-database.ts';
import { MemoryStore } from './memory-store.ts';
import { Violation } from './objects-faults.ts';

/** Before and after calls of the record store and of the blob store, in one process or in two after each other. */
const KILLS_MIN = 500;
const SMALL = 32 * 1024;
/** The least number of these kills at the calls of each phase; the others are at reads and changes of the run. */
const PHASES_MIN: Readonly<Record<string, number>> = {
  intent: 15,
  'blob put': 10,
  admission: 20,
  commit: 30,
  claim: 12,
  'blob remove': 4,
};

// The first execution would otherwise load its code while the test waits for the stores alone.
beforeAll(() =>
  Promise.all([
    import('../../functions/groups/artifacts/run-artifact-job.ts'),
    import('../../functions/jobs/active-run.ts'),
  ]),
);

const memory = () => new MemoryStore(new MemoryDatabase());

async function kills(open: () => RecordStore): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  const count = (phases: readonly string[]) => {
    for (const phase of phases) counts[phase] = (counts[phase] ?? 0) + 1;
  };
  for (const each of INGEST_CASES) {
    count(await killedAtEveryCall(open, each));
    const { bytes, before, caller } = each;
    if (bytes.length > SMALL && before === null && caller === 'repeats') count(await killedTwice(open, each));
  }
  return counts;
}

describe('an artifact of a process that is killed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-ingest-'));
  let sqlite: RecordStore;
  beforeAll(async () => {
    sqlite = await openSqliteStore({
      path: join(folder, 'store.db'),
      ...machine,
      collections: [...recordCollections, ...executionCollections],
    });
  });
  afterAll(async () => {
    await sqlite.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test.each<[string, () => RecordStore]>([
    ['memory', memory],
    ['SQLite', () => sqlite],
  ])('is whole or absent, and leaves nothing behind, on %s', async (_, open) => {
    const counts = await kills(open);
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    for (const [phase, least] of Object.entries(PHASES_MIN))
      expect(counts[phase], phase).toBeGreaterThanOrEqual(least);
    expect(total).toBeGreaterThanOrEqual(KILLS_MIN);
  });
});

describe('the kills find the planted bug:', () => {
  test.each(Object.entries(INGEST_FLAWS))('%s', async (_, flaw) => {
    const tried = async () => {
      for (const each of INGEST_CASES) await killedAtEveryCall(memory, each, flaw);
    };
    await expect(tried(), flaw.about).rejects.toBeInstanceOf(Violation);
  });
});
