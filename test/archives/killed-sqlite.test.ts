import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import { collections } from '../../functions/groups/canonical/records.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { patienceMs, stride } from '../support/effort.ts';
import { sqlite, strayRows, type TestDatabase } from './databases.ts';
import { Stage } from './stage.ts';

/** https://sqlite.org/fileformat2.html#the_write_ahead_log */
const LOG_HEAD_BYTES = 32;
const FRAME_HEAD_BYTES = 24;
const HOUR_MS = 3_600_000;

/**
 * A process that works on SQLite leaves two files when it dies: the database, which no process writes before a checkpoint,
 * and a log, which is only written at its end. So a kill of a restore leaves the log of the whole restore, cut at some
 * point. This test tries every cut; the tests with real processes meet some of them.
 */
describe('a restore on sqlite whose process dies', () => {
  let stage: Stage;
  let database: TestDatabase;
  let files: { readonly base: Buffer; readonly log: Buffer };

  beforeAll(async () => {
    stage = await Stage.prepare('mortal', 330);
    database = await sqlite.create();
    const first = await database.open();
    await stage.restore(first, stage.eras[0]);
    await first.close();
    const store = await database.open();
    const base = await readFile(pathOf(database));
    await stage.restore(store, stage.eras[1]);
    await store.sweep();
    expect((await readFile(pathOf(database))).equals(base), 'there was no checkpoint').toBe(true);
    files = { base, log: await readFile(`${pathOf(database)}-wal`) };
    await store.close();
  });
  afterAll(() => database.drop());

  /** Works on what such a kill leaves. */
  async function afterCut<R>(bytes: number, work: (path: string) => Promise<R>): Promise<R> {
    const folder = join(dirname(pathOf(database)), `cut-${bytes}`);
    const path = join(folder, 'canonical.sqlite');
    await mkdir(folder);
    await writeFile(path, files.base);
    await writeFile(`${path}-wal`, files.log.subarray(0, bytes));
    try {
      return await work(path);
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  const open = (path: string, aheadMs = 0) =>
    openSqliteStore({
      path,
      ...machine,
      clock: { now: () => machine.clock.now() + aheadMs },
      collections,
    });

  test(
    'leaves one tenant or the other, wherever its log ends',
    async () => {
      const eras: number[] = [];
      for (const bytes of cutsOf(files)) {
        const era = await afterCut(bytes, async (path) => {
          const store = await open(path);
          try {
            return await stage.eraIn(store);
          } finally {
            await store.close();
          }
        });
        eras.push(era);
      }
      // There is one moment at which it is done.
      expect(eras).toEqual(eras.toSorted((left, right) => left - right));
      expect([eras[0], eras.at(-1)]).toEqual([1, 2]);
    },
    patienceMs,
  );

  test('leaves nothing that maintenance does not sweep, and can be run again', async () => {
    let before = 0;
    for (const bytes of commitsOf(files)) {
      const flipped = await afterCut(bytes, async (path) => {
        const later = await open(path, 2 * HOUR_MS);
        const era = await stage.eraIn(later);
        await later.sweep();
        expect(strayRows(path)).toBe(0);
        expect(await stage.eraIn(later)).toBe(era);
        await stage.restore(later, stage.eras[1]);
        expect(await stage.eraIn(later)).toBe(2);
        await later.close();
        return era === 2;
      });
      if (flipped) break;
      before += 1;
    }
    // Its space, and two batches.
    expect(before).toBeGreaterThanOrEqual(3);
  });
});

function pathOf({ found }: TestDatabase): string {
  if (found.provider !== 'sqlite') throw new Error('this is for SQLite');
  return found.path;
}

interface Frame {
  readonly end: number;
  /** Whether a transaction ends with it. */
  readonly commits: boolean;
}

function framesOf({ base, log }: { readonly base: Buffer; readonly log: Buffer }): Frame[] {
  const bytes = FRAME_HEAD_BYTES + base.readUInt16BE(16);
  const count = Math.floor((log.byteLength - LOG_HEAD_BYTES) / bytes);
  return Array.from({ length: count }, (_, n) => {
    const start = LOG_HEAD_BYTES + n * bytes;
    return { end: start + bytes, commits: log.readUInt32BE(start + 4) !== 0 };
  });
}

function commitsOf(files: { readonly base: Buffer; readonly log: Buffer }): number[] {
  return framesOf(files).flatMap(({ end, commits }) => (commits ? [end] : []));
}

/** Around the end of every transaction, and in between at as many places as the run can afford. */
function cutsOf(files: { readonly base: Buffer; readonly log: Buffer }): number[] {
  const frames = framesOf(files);
  const every = stride(frames.length, 24);
  const cuts = frames.flatMap(({ end, commits }, n) => {
    if (commits) return [end - 1, end, end + FRAME_HEAD_BYTES + 1];
    return n % every === 0 ? [end, end + FRAME_HEAD_BYTES + 99] : [];
  });
  const last = files.log.byteLength;
  return [...new Set([0, 7, LOG_HEAD_BYTES, ...cuts, last])]
    .filter((cut) => cut <= last)
    .sort((left, right) => left - right);
}
