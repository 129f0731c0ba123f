import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keepingLines } from '../../cli/backup.ts';
import { inFolder, runTool } from '../support/operator-tool.ts';
import { type RunningService, startService } from '../support/service.ts';

/** The backup of a running server as an operator makes it. */

const LARGE = 'bytes '.repeat(60_000);
let service: RunningService;

beforeAll(async () => {
  service = await startService();
  const call = (path: string, body: object) => service.call({ method: 'POST', path, body });
  const { id } = (await call('/execution/runs', { handlerId: 'invoice.render' })).json<{ id: string }>();
  const asked = { workerId: 'w', handlerIds: ['invoice.render'], runId: id, ttlSeconds: 600 };
  const { leaseKey, leaseToken } = (await call('/execution/workers/leases', asked)).json<
    Record<string, string>
  >();
  const artifact = { name: 'large', content: { said: LARGE } };
  const written = await call('/execution/workers/leases/artifacts', {
    leaseKey,
    leaseToken,
    workerId: 'w',
    artifact,
  });
  expect(written.status, written.body).toBe(200);
});
afterAll(() => service.close());

function flipArtifact(): void {
  const files = readdirSync(service.folder, { recursive: true, withFileTypes: true });
  const file = files.find((each) => each.isFile() && each.parentPath.includes('artifacts'));
  const path = join(file?.parentPath ?? '', file?.name ?? '');
  const text = readFileSync(path, 'latin1');
  const swap = text.includes('cytes') ? text.replace('cytes', 'bytes') : text.replace('bytes', 'cytes');
  writeFileSync(path, swap, 'latin1');
}

const backup = async (folder: string, ...more: readonly string[]) => {
  const env = { SVC_DATA_DIR: service.folder };
  const args = ['backup', '--directory', folder, '--output', 'json', ...more];
  const { code, stdout, stderr } = await runTool(args, { cwd: folder, env });
  return {
    code,
    stderr,
    result: JSON.parse(stdout === '' ? 'null' : stdout) as Record<string, unknown> | null,
  };
};

test('holds each body unchanged, and reports that', () =>
  inFolder(async (folder) => {
    const { code, stderr, result } = await backup(folder);
    expect([code, stderr]).toEqual([0, '']);
    expect(result).toMatchObject({ bodies: 'sound', removed: 0 });
    const verified = await runTool(['backup-verify', '--directory', String(result?.['directory'])]);
    expect(verified.code, verified.stderr).toBe(0);
  }));

test('of a damaged body is made, names it, removes no older backup and exits with 1', () =>
  inFolder(async (folder) => {
    // A folder is named by the second, and a fast machine makes two backups in one.
    const age = (old: string): void => {
      const made = readdirSync(folder).find((name) => !name.startsWith('2020')) ?? '';
      renameSync(join(folder, made), join(folder, old));
    };
    for (const old of ['20200101T000000Z', '20200102T000000Z']) {
      const { result } = await backup(folder);
      expect(result).toMatchObject({ bodies: 'sound' });
      age(old);
    }
    flipArtifact();
    try {
      const { code, stderr, result } = await backup(folder, '--keep', '1');
      expect(code).toBe(1);
      expect(result).toMatchObject({ bodies: 'damaged', removed: 0 });
      expect(stderr).toMatch(/^artifact large \(.*\) of the run .*: /m);
      expect(stderr).toContain('The backup is made and holds these bodies');
      expect(stderr).toMatch(/^--keep 1 removes nothing until .* there are 3\. /m);
      expect(stderr).not.toContain('.part');
      const verified = await runTool(['backup-verify', '--directory', String(result?.['directory'])]);
      expect(verified.code, verified.stderr).toBe(0);
      expect(readdirSync(folder)).toHaveLength(3);
      age('20200103T000000Z');
    } finally {
      flipArtifact();
    }
    const { code, result } = await backup(folder, '--keep', '1');
    expect([code, result?.['removed']]).toEqual([0, 3]);
  }));

test('reports bodies that cannot be read as unreadable, not as damaged', () => {
  const [first = '', second = ''] = keepingLines('not read', { keep: 14, backups: 20 });
  expect(first).toContain('could be read');
  expect(first).not.toContain('damaged');
  expect(second).toMatch(/^--keep 14 removes nothing until a backup can be read, .* there are 20\. /);
  expect(keepingLines('not read', { keep: undefined, backups: 20 })).toEqual([first]);
});
