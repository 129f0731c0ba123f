import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { tallySpace } from '../../functions/collections/copies/export-space.ts';
import { spaceScope } from '../../functions/collections/store-collections.ts';
import { fill, incarnation, policy, record } from '../archives/spaces.ts';
import {
  inFolder,
  jsonOf,
  type RunningTool,
  runTool,
  startTool,
  withDatabase,
} from '../support/operator-tool.ts';

/** Archives of a space by the operator tool in a process of its own. */

const file = 'svc.canonical.sqlite';
const SPACE = 'default';
const at = (folder: string, ...args: string[]) => [...args, '--canonical-db', join(folder, file)];

async function spaceIn(folder: string, count: number, n = 1): Promise<string> {
  const of = incarnation(n);
  const text = `"text":"${'word '.repeat(300)}"`;
  const records = Array.from({ length: count }, (_, id) => record(of, 'p', `note-${id}`, text));
  return withDatabase(join(folder, file), async (store) => {
    await fill(store, SPACE, [policy('notes', of), ...records]);
    return (await tallySpace(store, SPACE)).contentHash();
  });
}

const hashIn = (folder: string) =>
  withDatabase(join(folder, file), async (store) => (await tallySpace(store, SPACE)).contentHash());

async function stopped(tool: RunningTool, step: string, signal: NodeJS.Signals) {
  await tool.says(`${step} …`);
  tool.process.kill(signal);
  return tool.ended;
}

describe('an archive of a space', () => {
  test('is written, verified and restored into a new database and over collections', () =>
    inFolder(async (home) => {
      const [from, to] = [join(home, 'from'), join(home, 'to')];
      await Promise.all([mkdir(from), mkdir(to)]);
      const hash = await spaceIn(from, 40);
      const directory = ['--directory', join(home, 'archive')];
      const made = await runTool(at(from, 'records-archive-export', ...directory, '--output', 'json'));
      expect([made.code, made.stderr]).toEqual([0, '']);
      const { contentHash, ...result } = jsonOf<{ contentHash: string }>(made);
      expect(result).toMatchObject({
        space: SPACE,
        counts: { policies: 1, records: 40 },
        snapshotContentHash: hash,
      });
      const expected = ['--expected-content-hash', contentHash];
      expect((await runTool(['records-archive-verify', ...directory, ...expected])).code).toBe(0);
      const other = await runTool(['records-archive-verify', ...directory, '--space', 'else']);
      expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('--space')]);

      const restore = ['records-archive-restore', ...directory, ...expected];
      expect((await runTool(at(to, ...restore))).code).toBe(3);
      const plan = await runTool(at(to, ...restore, '--dry-run', '--create', '--output', 'json'));
      expect(jsonOf(plan)).toMatchObject({ dryRun: true, current: { counts: { policies: 0, records: 0 } } });
      expect(await readdir(to)).toEqual([]);
      expect((await runTool(at(to, ...restore, '--create'))).code).toBe(0);
      expect(await hashIn(to)).toBe(hash);
      await spaceIn(to, 3, 2);
      const again = await runTool(at(to, ...restore));
      expect([again.code, again.stderr]).toEqual([4, expect.stringContaining('--replace')]);
      expect((await runTool(at(to, ...restore, '--replace'))).code).toBe(2);
      expect((await runTool(at(to, ...restore, '--replace', '--yes'))).code).toBe(0);
      expect(await hashIn(to)).toBe(hash);
    }));

  test('leaves nothing half done where a signal or a kill ends the export or the restore', () =>
    inFolder(async (home) => {
      const [from, to] = [join(home, 'from'), join(home, 'to')];
      await Promise.all([mkdir(from), mkdir(to)]);
      const hash = await spaceIn(from, 1_500);
      const before = await spaceIn(to, 5, 2);
      const directory = ['--directory', join(home, 'archive')];
      const exporting = at(from, 'records-archive-export', ...directory, '--verbose');
      // A signal may come after the last record.
      const cut = await stopped(startTool(exporting), 'exporting', 'SIGINT');
      if (cut.code !== 0) {
        expect([cut.code, cut.stderr]).toEqual([130, expect.stringContaining('no archive was written')]);
        expect((await readdir(home)).sort()).toEqual(['from', 'to']);
        expect((await runTool(exporting)).code).toBe(0);
      }

      const restore = at(to, 'records-archive-restore', ...directory, '--replace', '--yes', '--verbose');
      const signalled = await stopped(startTool(restore), 'restoring', 'SIGTERM');
      if (signalled.code !== 0) {
        expect([signalled.code, signalled.stderr]).toEqual([
          143,
          expect.stringContaining('nothing was replaced'),
        ]);
        expect(await hashIn(to)).toBe(before);
      }
      await stopped(startTool(restore), 'restoring', 'SIGKILL');
      expect([before, hash]).toContain(await hashIn(to));
      expect((await runTool(restore)).code).toBe(0);
      expect(await hashIn(to)).toBe(hash);
    }));
});

test('20,000 records are archived and restored in less memory than they take', () =>
  inFolder(async (home) => {
    const [from, to] = [join(home, 'from'), join(home, 'to')];
    await Promise.all([mkdir(from), mkdir(to)]);
    const [of, text] = [incarnation(1), `"text":"${'x'.repeat(4_000)}"`];
    async function* records() {
      yield policy('notes', of);
      for (let n = 0; n < 20_000; n += 1) yield record(of, 'p', `note-${n}`, text);
    }
    // 80 MB, more than the heap that is given.
    await withDatabase(join(from, file), (store) =>
      store.swap(spaceScope(SPACE), records(), () => undefined),
    );
    const node = ['--max-old-space-size=48'];
    const directory = ['--directory', join(home, 'archive'), '--output', 'json'];
    const made = await runTool(at(from, 'records-archive-export', ...directory), { node });
    expect([made.code, made.stderr]).toEqual([0, '']);
    const back = await runTool(at(to, 'records-archive-restore', ...directory, '--create'), { node });
    expect([back.code, back.stderr]).toEqual([0, '']);
    expect(jsonOf(back)).toMatchObject({ counts: { policies: 1, records: 20_000 } });
    expect(await hashIn(to)).toBe(jsonOf<{ snapshotContentHash: string }>(made).snapshotContentHash);
  }));
