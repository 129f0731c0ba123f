import { existsSync } from 'node:fs';
import { chmod, cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import {
  changeTenant,
  hashIn,
  jsonOf,
  onSample,
  sampleCounts,
  SAMPLE_TENANT as tenant,
} from '../support/operator-tool.ts';

/** Archives that the operator tool creates, inspects and restores. */

const db = ['--db', 'svc.sqlite'];

describe('archives', () => {
  const make = (...args: string[]) => [
    'canonical-archive-export',
    ...db,
    '--tenant',
    tenant,
    '--directory',
    'arch',
    ...args,
  ];
  const restore = (...args: string[]) => [
    'canonical-archive-restore',
    ...db,
    '--tenant',
    tenant,
    '--directory',
    'arch',
    ...args,
  ];
  const verify = (...args: string[]) => ['canonical-archive-verify', '--directory', 'arch', ...args];

  interface Result {
    readonly chunks: number;
    readonly storedBytes: number;
    readonly contentHash: string;
    readonly snapshotContentHash: string;
  }

  test('are written, verified and restored, under one hash', () =>
    onSample(async ({ at, svc }) => {
      const copy = await hashIn(at('svc.canonical.sqlite'));
      const made = await svc(make('--chunk-bytes', '2000', '--output', 'json'));
      expect([made.code, made.stderr]).toEqual([0, '']);
      const summary = jsonOf<Result>(made);
      expect(summary).toMatchObject({ tenantId: tenant, counts: sampleCounts, snapshotContentHash: copy });
      const names = await readdir(at('arch'));
      expect(names).toHaveLength(summary.chunks + 1);
      expect(summary.chunks).toBeGreaterThan(2);
      const whose = await svc(verify('--output', 'json'));
      expect(jsonOf(whose)).toMatchObject({ tenantId: tenant, contentHash: summary.contentHash });
      expect(
        await svc(verify('--tenant', tenant, '--expected-content-hash', summary.contentHash)),
      ).toMatchObject({ code: 0 });
      expect(await svc(verify('--tenant', 'tenant-b'))).toMatchObject({ code: 1 });
      expect(await svc(verify('--expected-content-hash', copy))).toMatchObject({ code: 1 });
      await changeTenant(at('svc.canonical.sqlite'));
      const back = await svc(
        restore('--yes', '--expected-content-hash', summary.contentHash, '--output', 'json'),
      );
      expect(jsonOf(back)).toEqual(jsonOf(made));
      expect(await hashIn(at('svc.canonical.sqlite'))).toBe(copy);
    }));

  test('are restored after a dry run that changes nothing, and not without --yes', () =>
    onSample(async ({ at, svc }) => {
      const copy = await hashIn(at('svc.canonical.sqlite'));
      await svc(make());
      const live = await changeTenant(at('svc.canonical.sqlite'));
      const dry = await svc(restore('--dry-run', '--output', 'json'));
      expect(jsonOf(dry)).toMatchObject({
        dryRun: true,
        current: { contentHash: live },
        replacement: { counts: sampleCounts, contentHash: copy },
        sameContent: false,
      });
      expect(await svc(restore())).toMatchObject({ code: 2, stdout: '' });
      expect(await hashIn(at('svc.canonical.sqlite'))).toBe(live);
    }));

  test('are not mixed with other files of a folder', () =>
    onSample(async ({ at, svc }) => {
      await svc(make());
      const before = await readFile(at('arch/manifest.json'));
      const again = await svc(make());
      expect(again).toMatchObject({ code: 4, stdout: '' });
      expect(again.stderr).toContain('arch: is not empty');
      expect((await readFile(at('arch/manifest.json'))).equals(before)).toBe(true);
      expect(await svc(verify())).toMatchObject({ code: 0 });
    }));

  test('that are damaged are refused by name, and no database is made for them', () =>
    onSample(async ({ at, svc }) => {
      await svc(make('--chunk-bytes', '2000'));
      const content = await readFile(at('arch/chunk-000001.bin'));
      content[20] = (content[20] ?? 0) ^ 1;
      await writeFile(at('arch/chunk-000001.bin'), content);
      const live = await changeTenant(at('svc.canonical.sqlite'));
      const summary = 'chunk-000001.bin: is not the chunk that the manifest names';
      expect(await svc(verify())).toMatchObject({ code: 1, stdout: '', stderr: `${summary}\n` });
      for (const how of [['--yes'], ['--dry-run'], ['--yes', '--canonical-db', 'new.sqlite', '--create']]) {
        const ended = await svc(restore(...how));
        expect(ended).toMatchObject({ code: 1, stdout: '', stderr: `${summary}. Nothing was replaced.\n` });
      }
      expect(existsSync(at('new.sqlite'))).toBe(false);
      expect(await hashIn(at('svc.canonical.sqlite'))).toBe(live);
    }));

  test.each(['0', '-1', '1.5', '16777217', '1e3', ''])('have no chunks of %j bytes', (bytes) =>
    onSample(async ({ at, svc }) => {
      expect(await svc(make('--chunk-bytes', bytes))).toMatchObject({ code: 2, stdout: '' });
      expect(existsSync(at('arch'))).toBe(false);
    }),
  );

  test('leave nothing behind when the database fails', () =>
    onSample(async ({ at, svc }) => {
      expect(await svc(make('--canonical-db', 'nowhere.sqlite'))).toMatchObject({ code: 3 });
      await cp(at('svc.canonical.sqlite'), at('broken.sqlite'));
      const broken = new DatabaseSync(at('broken.sqlite'));
      broken.exec(`UPDATE records SET body = '{"no' WHERE collection = 'documents'`);
      broken.close();
      const ended = await svc(make('--canonical-db', 'broken.sqlite'));
      expect(ended).toMatchObject({ code: 1, stdout: '' });
      expect(ended.stderr).not.toContain('    at ');
      expect(existsSync(at('arch'))).toBe(false);
    }));

  test.skipIf(process.getuid?.() === 0)('are not written where that is not permitted', () =>
    onSample(async ({ folder, svc }) => {
      await chmod(folder, 0o500);
      const ended = await svc(make());
      await chmod(folder, 0o700);
      expect(ended).toMatchObject({ code: 1, stderr: 'arch: permission is denied\n' });
    }),
  );
});
