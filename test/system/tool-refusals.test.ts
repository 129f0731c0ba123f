import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import {
  changeTenant,
  type Ended,
  follow,
  hashIn,
  jsonOf,
  onSample,
  startTool,
  SAMPLE_TENANT as tenant,
  toolCommandLine,
} from '../support/operator-tool.ts';

/** The messages and effects of the operator tool where its output or its files fail. */

const root = resolve(import.meta.dirname, '../..');
const PATH = process.env['PATH'] ?? '';
const db = ['--db', 'svc.sqlite'];
const exported = ['canonical-export', ...db, '--tenant', tenant];
const restored = ['canonical-restore', ...db, '--tenant', tenant, '--file', 'a.json', '--yes'];

function inShell(command: string, cwd: string): Promise<Ended> {
  return follow(spawn('sh', ['-c', command], { cwd, env: { PATH } })).ended;
}

test('doctor warns of a Production configuration that serves no runs, and of no other', () =>
  onSample(async ({ svc }) => {
    const canonical = ['AllowedAudiences:0=a', 'IdentityPolicies:0:Principal=a@b.c'];
    const policy = ['AllowedTenantIds:0=t', 'AllowedOperations:0=read'];
    const settings = [
      '--Environment=Production',
      ...canonical.map((setting) => `--Server:CanonicalAccess:${setting}`),
      ...policy.map((setting) => `--Server:CanonicalAccess:IdentityPolicies:0:${setting}`),
    ];
    const checks = async (...more: string[]) => {
      const ended = await svc(['doctor', '--output', 'json', ...settings, ...more]);
      return jsonOf<{ checks: { id: string; status: string; message: string }[] }>(ended).checks;
    };
    const found = await checks();
    expect(found.find(({ id }) => id === 'settings')?.status, JSON.stringify(found)).toBe('ok');
    expect(found.find(({ id }) => id === 'runs')).toMatchObject({
      status: 'warning',
      message: expect.stringContaining('Runs are not served') as string,
    });
    // The rest of what `svc config check` doubts.
    const doubts = found.filter(({ id }) => id === 'setting').map(({ message }) => message.split(' ')[0]);
    expect(doubts).toEqual(['Server:TrustedProxyHops', 'ExecutionRuntime:MaxActiveRuns']);
    const disabled = await checks('--ExecutionRuntime:Enabled=false');
    expect(disabled.find(({ id }) => id === 'runs')).toBeUndefined();
  }));

test('npm runs it in the folder of the caller, and adds nothing to its output', () =>
  onSample(async ({ folder, at }) => {
    await mkdir(at('sub'));
    await writeFile(
      at('sub/svcsettings.json'),
      JSON.stringify({ CanonicalStore: { DatabasePath: '../svc.canonical.sqlite' } }),
    );
    const args = ['--tenant', tenant, '--file', 'a.json', '--output', 'json'];
    const npm = ['--prefix', root, 'run', '-s', 'svc', '--', 'canonical-export', ...args];
    const env = { PATH, HOME: folder, NO_UPDATE_NOTIFIER: '1' };
    const ended = await follow(spawn('npm', npm, { cwd: at('sub'), env })).ended;
    expect(jsonOf(ended)).toMatchObject({ file: at('sub/a.json'), tenantId: tenant });
    expect(existsSync(at('sub/a.json'))).toBe(true);
  }));

test('a dry run makes no database, and reads the one that --create would make as empty', () =>
  onSample(async ({ folder, svc }) => {
    await svc([...exported, '--file', 'a.json']);
    await svc(['canonical-archive-export', ...db, '--tenant', tenant, '--directory', 'arch']);
    const before = (await readdir(folder)).sort();
    for (const from of [
      ['canonical-restore', '--file', 'a.json'],
      ['canonical-archive-restore', '--directory', 'arch'],
    ]) {
      const args = [...from, '--canonical-db', 'new/new.sqlite', '--tenant', tenant, '--dry-run'];
      expect(await svc(args)).toMatchObject({ code: 3, stdout: '' });
      const planned = await svc([...args, '--create', '--output', 'json']);
      const none = { commits: 0, documents: 0, events: 0, fences: 0 };
      expect(jsonOf(planned)).toMatchObject({ current: { counts: none }, sameContent: false });
      expect(planned).toMatchObject({ code: 0, stderr: 'Nothing was changed: this was a dry run.\n' });
    }
    expect((await readdir(folder)).sort()).toEqual(before);
  }));

describe('standard output that takes nothing', () => {
  const isFull = (args: readonly string[], folder: string) =>
    inShell(`${toolCommandLine(args)} > /dev/full`, folder);
  const full = 'standard output: no space is left on the device\n';

  test.each([
    ['a result', [...exported, '--file', 'a.json']],
    ['a snapshot', [...exported, '--file', '-']],
    ['a list', ['api']],
  ])('is reported in one line: %s', (_, args) =>
    onSample(async ({ folder }) => {
      expect(await isFull(args, folder)).toEqual({ code: 1, stdout: '', stderr: full });
    }),
  );

  const ways: [string, (folder: string) => Promise<Ended>, number, string][] = [
    ['a disk that is full', (folder) => isFull(restored, folder), 1, full],
    [
      'a pipe without a reader',
      (folder) => {
        const tool = startTool(restored, { cwd: folder });
        tool.process.stdout?.destroy();
        return tool.ended;
      },
      141,
      '',
    ],
  ];
  test.each(ways)('does not stop a restore: %s', (_, run, code, expectedWarning) =>
    onSample(async ({ folder, at, svc }) => {
      const copy = await hashIn(at('svc.canonical.sqlite'));
      await svc([...exported, '--file', 'a.json']);
      await changeTenant(at('svc.canonical.sqlite'));
      const ended = await run(folder);
      const replaced = `The tenant ${tenant} was replaced. Only the result could not be printed.\n`;
      expect([ended.code, ended.stdout]).toEqual([code, '']);
      expect(ended.stderr.replace(expectedWarning, '')).toBe(replaced);
      expect(ended.stderr).toContain(expectedWarning);
      const database = new DatabaseSync(at('svc.canonical.sqlite'), { readOnly: true });
      const left = database.prepare(`SELECT count(*) AS spaces FROM spaces WHERE state <> 'live'`).get();
      database.close();
      expect(left).toEqual({ spaces: 0 });
      expect(await hashIn(at('svc.canonical.sqlite'))).toBe(copy);
    }),
  );
});

test('a sweep reports the objects that it keeps', () =>
  onSample(async ({ at, svc }) => {
    expect(jsonOf(await svc(['canonical-sweep', ...db, '--output', 'json']))).toEqual({
      database: `sqlite ${at('svc.canonical.sqlite')}`,
      swept: true,
      left: 'data that an unfinished restore wrote less than an hour ago',
    });
  }));

describe('a refusal', () => {
  test.each([
    ['mysql', 'postgresql://svc:hunter2@h/d', 'is an address of postgresql, but the provider is mysql'],
    ['postgresql', 'mysql://svc:hunter2@h/d', 'is an address of mysql, but the provider is postgresql'],
  ])('of a connection string of another database than %s is one of the settings', (provider, url, said) =>
    onSample(async ({ svc }) => {
      await svc([...exported, '--file', 'a.json']);
      const env = { CanonicalStore__Provider: provider, CanonicalStore__ConnectionString: url };
      for (const command of [
        ['canonical-export', '--file', 'b.json'],
        ['canonical-restore', '--file', 'a.json', '--yes'],
      ]) {
        const ended = await svc([...command, '--tenant', tenant], { env });
        expect(ended).toMatchObject({ code: 2, stdout: '' });
        expect(ended.stderr).toContain(said);
        expect(ended.stderr).not.toContain('hunter2');
      }
    }),
  );

  test('ends with one full stop', () =>
    onSample(async ({ at, svc }) => {
      await writeFile(at('a.json'), '{');
      const ended = await svc(restored);
      expect(ended.stderr).toMatch(/\. Nothing was replaced\.\n$/);
      expect(ended.stderr).not.toContain('..');
    }));

  test('names the folder that is missing, or that is no file', () =>
    onSample(async ({ folder, at, svc }) => {
      expect(await svc([...exported, '--file', 'nope/x.json'])).toMatchObject({
        code: 3,
        stderr: 'nope: there is no such folder\n',
      });
      const isFolder = { code: 1, stderr: `${folder}: is a folder; name the file in it\n` };
      const from = ['canonical-restore', ...db, '--tenant', tenant, '--yes', '--file', folder];
      expect(await svc(from)).toMatchObject(isFolder);
      expect(await svc(['canonical-migrate', ...db, '--file', folder])).toMatchObject(isFolder);
      const call = ['api', 'commitCanonicalTransaction', '--param', `tenantId=${tenant}`];
      expect(await svc([...call, '--body', `@${folder}`])).toMatchObject(isFolder);
      const url = ['--provider', 'mysql', '--connection-string-file', folder];
      expect(await svc(['canonical-sweep', ...url])).toMatchObject({ ...isFolder, code: 2 });
      expect(existsSync(at('nope'))).toBe(false);
    }));

  test.each([
    ['--tenant', ['canonical-export', '--tenant', 'a', '--tenant', tenant, '--file', 'b.json', ...db]],
    ['--db', ['canonical-sweep', ...db, ...db]],
    [
      '--server',
      ['api', '--server', 'http://127.0.0.1:1', 'getServerInfo', '--server', 'http://127.0.0.1:2'],
    ],
    ['--output', ['doctor', '--output', 'json', '--output', 'table']],
  ])('meets %s that is given twice', (flag, args) =>
    onSample(async ({ at, svc }) => {
      const ended = await svc(args);
      expect(ended).toMatchObject({ code: 2, stdout: '' });
      expect(ended.stderr).toContain(`error: option '${flag}`);
      expect(ended.stderr).toContain('is given more than once');
      expect(existsSync(at('b.json'))).toBe(false);
    }),
  );

  test('accepts an option that may be repeated', () =>
    onSample(async ({ svc }) => {
      const twice = ['--param', `tenantId=${tenant}`, '--param', 'x=1'];
      const ended = await svc(['api', 'exportCanonicalTenant', ...twice]);
      expect(ended.stderr).not.toContain('more than once');
      // A variable is not given on the command line.
      const env = { SVC_SERVER: 'http://127.0.0.1:1' };
      const called = await svc(
        ['api', 'exportCanonicalTenant', '--server', 'http://127.0.0.1:1', '--param', `tenantId=${tenant}`],
        { env },
      );
      expect(called).toMatchObject({ code: 6 });
    }));
});
