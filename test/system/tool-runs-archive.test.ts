import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { openFileBlobs } from '../../functions/blobs/files/store.ts';
import { machine } from '../../functions/compose/machine.ts';
import { EXECUTION_SCOPE, executionCollections } from '../../functions/runs/records.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import {
  type Begun,
  begin,
  type Deployment,
  goOn,
  SMALL_INLINE,
} from '../conformance/execution-copies-runs.ts';
import { ownRuns } from '../conformance/execution-fixtures.ts';
import { TenantClient } from '../support/canonical.ts';
import { inFolder, jsonOf, runTool, startTool } from '../support/operator-tool.ts';

/** Archives of runs, and the deletion of a tenant, by the operator tool in a process of its own. */

const file = 'svc.canonical.sqlite';

/** Opens the runs of the service in `folder`, whose artifacts are where the settings of the tool expect them. */
async function onRuns<R>(folder: string, use: (runs: Deployment) => Promise<R>): Promise<R> {
  const store = await openSqliteStore({
    path: join(folder, file),
    ...machine,
    collections: executionCollections,
  });
  const blobs = await openFileBlobs({ folder: join(folder, 'artifacts'), ...machine });
  try {
    const runs = ownRuns(store, { ...SMALL_INLINE, blobs, scope: EXECUTION_SCOPE });
    // The tool has the clock of the machine, and its writes must lie before what happens next.
    runs.clock.now = machine.clock.now();
    return await use(runs);
  } finally {
    await store.close();
  }
}

async function tenantIn(folder: string): Promise<Begun> {
  return onRuns(folder, async (runs) => {
    const begun = await begin(runs);
    const client = new TenantClient(await runs.instance.runtime.store(), begun.tenantId);
    for (let n = 0; n < 30; n += 1) {
      const outbox = [{ topic: 't', key: 'k', payload: { tenant: begun.tenantId } }];
      await client.commit({
        idempotencyKey: `k-${n}`,
        mutations: [client.upsert(`d-${n % 5}`, { n })],
        outbox,
      });
    }
    return begun;
  });
}

const data = (folder: string) => ({ SVC_DATA_DIR: folder });
const at = (folder: string, ...args: string[]) => [...args, '--canonical-db', join(folder, file)];

describe('an archive of runs', () => {
  test('is written, verified and restored into a new database, where the runs go on', () =>
    inFolder(async (home) => {
      const [from, to] = [join(home, 'from'), join(home, 'to')];
      await Promise.all([mkdir(from), mkdir(to)]);
      const begun = await tenantIn(from);
      const directory = ['--directory', join(home, 'archive')];
      const made = await runTool(at(from, 'runs-archive-export', ...directory, '--output', 'json'), {
        env: data(from),
      });
      expect([made.code, made.stderr]).toEqual([0, '']);
      const { contentHash, counts } = jsonOf<{ contentHash: string; counts: object }>(made);
      expect(counts).toMatchObject({ runs: 5, blobs: 1, missingBlobs: 0 });
      const expected = ['--expected-content-hash', contentHash];
      expect((await runTool(['runs-archive-verify', ...directory, ...expected])).code).toBe(0);
      const restore = ['runs-archive-restore', ...directory, ...expected];
      const there = { env: data(to) };
      expect((await runTool(at(to, ...restore), there)).code).toBe(3);
      const plan = await runTool(at(to, ...restore, '--dry-run', '--create', '--output', 'json'), there);
      expect(jsonOf(plan)).toMatchObject({ dryRun: true, runs: 5, current: { runs: 0 } });
      expect(await readdir(to)).toEqual([]);
      const restored = await runTool(at(to, ...restore, '--create'), there);
      expect([restored.code, restored.stderr]).toEqual([0, expect.stringContaining('Start the service')]);
      const again = await runTool(at(to, ...restore), there);
      expect([again.code, again.stderr]).toEqual([4, expect.stringContaining('--replace')]);
      expect((await runTool(at(to, ...restore, '--replace'), there)).code).toBe(2);
      expect((await runTool(at(to, ...restore, '--replace', '--yes'), there)).code).toBe(0);
      await onRuns(to, (runs) => goOn(runs, begun));
    }));

  test('of one tenant is restored whole after kills at any point', () =>
    inFolder(async (home) => {
      const [from, to] = [join(home, 'from'), join(home, 'to')];
      await Promise.all([mkdir(from), mkdir(to)]);
      const begun = await tenantIn(from);
      await tenantIn(to);
      const tenant = ['--tenant', begun.tenantId];
      const directory = ['--directory', join(home, 'archive')];
      await runTool(at(from, 'runs-archive-export', ...tenant, ...directory), { env: data(from) });
      const restore = at(to, 'runs-archive-restore', ...tenant, ...directory, '--verbose');
      for (const word of ['verifying', 'restoring records of runs', 'restoring runs'])
        await killedAt(restore, to, word);
      const last = await runTool(restore, { env: data(to) });
      // The last kill may come after the last write.
      expect([0, 4]).toContain(last.code);
      await onRuns(to, (runs) => goOn(runs, begun));
    }));
});

describe('the deletion of a tenant', () => {
  test('leaves no trace of it after kills at any point, and a receipt', () =>
    inFolder(async (home) => {
      const { tenantId } = await tenantIn(home);
      const neighbour = await tenantIn(home);
      const kept = rowsWith(home, neighbour.tenantId);
      const receipt = join(home, 'receipt.json');
      const args = at(home, 'tenant-delete', '--tenant', tenantId, '--receipt', receipt);
      const env = data(home);
      const asked = await runTool(args, { env });
      expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('--yes')]);
      const plan = jsonOf<{ runs: object; canonical: object }>(
        await runTool([...args, '--dry-run', '--output', 'json'], { env }),
      );
      const refused = await runTool([...args, '--yes'], { env });
      expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('--cancel-runs')]);
      const remove = [...args, '--yes', '--cancel-runs', '--verbose'];
      for (const word of ['counting records', 'removing runs', 'removing records'])
        await killedAt(remove, home, word);
      const done = await runTool(remove, { env });
      expect([done.code, done.stdout]).toEqual([0, expect.stringContaining(tenantId)]);
      const { runs, canonical } = plan;
      expect(JSON.parse(await readFile(receipt, 'utf8'))).toMatchObject({
        kind: 'svc.tenant.deletion.v1',
        tenantId,
        recordsLeft: 0,
        runs,
        canonical,
      });
      expect(rowsWith(home, tenantId)).toEqual([]);
      expect(rowsWith(home, neighbour.tenantId)).toEqual(kept);
      expect(kept.length).toBeGreaterThan(50);
    }));

  test('takes every name that a run can have', () =>
    inFolder(async (home) => {
      const tenantId = 'eu/acme 50%?';
      await onRuns(home, (runs) => begin(runs, tenantId));
      const receipt = join(home, 'receipt.json');
      const args = ['tenant-delete', '--tenant', tenantId, '--receipt', receipt, '--yes', '--cancel-runs'];
      const done = await runTool(at(home, ...args), { env: data(home) });
      expect([done.code, JSON.parse(await readFile(receipt, 'utf8'))]).toMatchObject([
        0,
        { tenantId, runs: { counts: { runs: 5 } } },
      ]);
      expect(rowsWith(home, tenantId)).toEqual([]);
    }));

  test('keeps all where the receipt cannot be written', () =>
    inFolder(async (home) => {
      const { tenantId } = await tenantIn(home);
      const before = rowsWith(home, tenantId);
      const receipt = join(home, 'none', randomUUID());
      const args = ['tenant-delete', '--tenant', tenantId, '--receipt', receipt, '--yes', '--cancel-runs'];
      expect((await runTool(at(home, ...args), { env: data(home) })).code).toBe(3);
      expect(rowsWith(home, tenantId)).toEqual(before);
    }));
});

/** Runs the command until it says the step, and kills it there. */
async function killedAt(args: readonly string[], folder: string, step: string): Promise<void> {
  const tool = startTool(args, { env: data(folder) });
  await tool.says(`${step} …`).catch(() => undefined);
  tool.process.kill('SIGKILL');
  await tool.ended;
}

/** The rows of every table that hold the text, without the columns that only say where a row is. */
function rowsWith(folder: string, text: string): string[] {
  const database = new DatabaseSync(join(folder, file), { readOnly: true });
  try {
    const sql = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('records', 'entries', 'parts')`;
    return database
      .prepare(sql)
      .all()
      .flatMap(({ name }) => database.prepare(`SELECT * FROM ${String(name)}`).all())
      .map((row) => Object.values(row).map(textOf).join(' '))
      .filter((row) => row.includes(text))
      .sort();
  } finally {
    database.close();
  }
}

function textOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : String(value);
}
