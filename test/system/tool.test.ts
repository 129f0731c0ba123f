import { readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import type { TenantSnapshot } from '../../functions/groups/canonical/copies/snapshot/snapshot.ts';
import {
  type Ended,
  hashIn,
  jsonOf,
  onSample,
  runTool,
  sampleCounts,
  startTool,
  SAMPLE_TENANT as tenant,
} from '../support/operator-tool.ts';

/** The operator tool on a database of one file, typed as an operator would type it. */

const db = ['--db', 'svc.sqlite'];

describe('canonical-export', () => {
  test('writes the tenant into a file that only its owner reads, and reports the counts', () =>
    onSample(async ({ at, svc }) => {
      const ended = await svc(['canonical-export', ...db, '--tenant', tenant, '--file', 'a.json']);
      expect([ended.code, ended.stderr]).toEqual([0, '']);
      const snapshot = JSON.parse(String(await readFile(at('a.json')))) as TenantSnapshot;
      expect(snapshot.contentHash).toBe(await hashIn(at('svc.canonical.sqlite')));
      expect(ended.stdout).toMatch(/^tenant id +tenant-a$/m);
      expect(ended.stdout).toMatch(/^counts documents +2$/m);
      expect(ended.stdout).toContain(snapshot.contentHash);
      expect(ended.stdout).toContain(at('a.json'));
      expect((await stat(at('a.json'))).mode & 0o777).toBe(0o600);
      expect((await readdir(at('.'))).filter((name) => name.includes('.part'))).toEqual([]);
    }));

  test('prints the same as JSON', () =>
    onSample(async ({ at, svc }) => {
      const args = ['canonical-export', ...db, '--tenant', tenant, '--file', 'a.json', '--output', 'json'];
      expect(jsonOf(await svc(args))).toEqual({
        tenantId: tenant,
        database: `sqlite ${at('svc.canonical.sqlite')}`,
        file: at('a.json'),
        counts: sampleCounts,
        contentHash: await hashIn(at('svc.canonical.sqlite')),
      });
    }));

  test('writes over a file with --force alone, and over a link never', () =>
    onSample(async ({ at, svc }) => {
      await writeFile(at('a.json'), 'before');
      await symlink(at('a.json'), at('link.json'));
      const args = ['canonical-export', ...db, '--tenant', tenant, '--file'];
      const refused = await svc([...args, 'a.json']);
      expect(refused).toMatchObject({ code: 4, stdout: '' });
      expect(refused.stderr).toMatch(/^a\.json: is already there; --force replaces it\n$/);
      expect(await svc([...args, 'link.json', '--force'])).toMatchObject({ code: 1 });
      expect(String(await readFile(at('a.json')))).toBe('before');
      expect(await svc([...args, 'a.json', '--force'])).toMatchObject({ code: 0 });
      expect(String(await readFile(at('a.json')))).toContain(tenant);
    }));

  test('writes to standard output nothing but the snapshot', () =>
    onSample(async ({ at, svc }) => {
      const ended = await svc(['canonical-export', ...db, '--tenant', tenant, '--file', '-']);
      expect(jsonOf<TenantSnapshot>(ended).contentHash).toBe(await hashIn(at('svc.canonical.sqlite')));
      expect(ended.stderr).toMatch(/^counts documents +2$/m);
    }));

  test('that its reader closes early ends with a failure', () =>
    onSample(async ({ folder }) => {
      const args = ['canonical-export', ...db, '--tenant', tenant, '--file', '-'];
      const tool = startTool(args, { cwd: folder });
      tool.process.stdout?.destroy();
      // As after SIGPIPE, so that a script sees it.
      expect(await tool.ended).toMatchObject({ code: 141, stderr: '' });
    }));

  test('warns of a tenant that holds nothing', () =>
    onSample(async ({ svc }) => {
      const ended = await svc(['canonical-export', ...db, '--tenant', 'tenant-A', '--file', 'a.json']);
      expect(ended.code).toBe(0);
      expect(ended.stderr).toContain('WARNING: the tenant tenant-A holds nothing.');
    }));

  test('leaves out events past the retention of the settings', () =>
    onSample(async ({ svc }) => {
      const args = ['canonical-export', ...db, '--tenant', tenant, '--file', '-'];
      const ids = (ended: Ended) => jsonOf<TenantSnapshot>(ended).outbox.map(({ id }) => id);
      expect(ids(await svc(args))).toContain('delivered');
      const env = { CanonicalStore__DeliveredEventRetentionDays: '1' };
      const kept = ids(await svc(args, { env }));
      expect(kept).not.toContain('delivered');
      expect(kept).toContain('parked');
    }));
});

describe('which database', () => {
  const exported = (...args: string[]) => ['canonical-export', '--tenant', tenant, '--file', '-', ...args];

  test('is the one of the settings, the sibling of the records, or the file itself', () =>
    onSample(async ({ at, svc }) => {
      const env = { SVC_CANONICAL_DATABASE_PATH: at('svc.canonical.sqlite') };
      const file = at('svc.canonical.sqlite');
      for (const [args, run] of [
        [exported(), { env }],
        [exported('--db', 'svc.sqlite'), {}],
        [exported('--canonical-db', file), {}],
        [exported('--db', 'elsewhere.sqlite', '--canonical-db', file), {}],
        [exported('--canonical-db', file), { env: { SVC_CANONICAL_STORE_PROVIDER: 'firestore' } }],
      ] as const) {
        const ended = await svc(args, run);
        expect([args, ended.code, jsonOf<TenantSnapshot>(ended).documents.length]).toEqual([args, 0, 2]);
      }
    }));

  test('is never made by a slip of the pen', () =>
    onSample(async ({ folder, at, svc }) => {
      const before = (await readdir(folder)).sort();
      const ended = await svc(exported('--db', 'svcc.sqlite'));
      expect(ended).toMatchObject({ code: 3, stdout: '' });
      expect(ended.stderr).toContain(`${at('svcc.canonical.sqlite')}: there is no such database`);
      expect(await svc(exported())).toMatchObject({ code: 3 });
      expect((await readdir(folder)).sort()).toEqual(before);
    }));

  test('is not a foreign database, which stays unchanged', () =>
    onSample(async ({ at, svc }) => {
      const theirs = new DatabaseSync(at('theirs.sqlite'));
      theirs.exec('CREATE TABLE records (a)');
      theirs.close();
      await writeFile(at('empty.sqlite'), '');
      await writeFile(
        at('text.sqlite'),
        'not a database at all, but a text that is long enough to be looked at',
      );
      for (const name of ['theirs.sqlite', 'empty.sqlite', 'text.sqlite']) {
        const before = await readFile(at(name));
        const ended = await svc(exported('--canonical-db', name));
        expect([name, ended.code]).toEqual([name, 1]);
        expect(ended.stderr).toContain('is not a database of the canonical store');
        expect((await readFile(at(name))).equals(before), name).toBe(true);
      }
      expect(await svc(exported('--canonical-db', at('.')))).toMatchObject({ code: 1 });
    }));

  const misread: [string, string[], string][] = [
    ['a variable of the shell that is not set', ['--canonical-db', ''], 'It is blank.'],
    [
      'an option of another provider',
      ['--provider', 'sqlite', '--project', 'my-project'],
      '--project is an option of firestore',
    ],
    [
      'a provider that is none',
      ['--provider', 'oracle'],
      'must be one of sqlite, firestore, postgresql, mysql',
    ],
    ['an option that is none', ['--databse', 'x'], "unknown option '--databse'"],
    ['a form that is none', ['--output', 'yaml'], 'table, json'],
  ];
  test.each(misread)('is not guessed from %s', (_, args, message) =>
    onSample(async ({ svc }) => {
      const ended = await svc(exported(...args));
      expect(ended).toMatchObject({ code: 2, stdout: '' });
      expect(ended.stderr).toContain(message);
    }),
  );

  test('that does not answer ends with its own exit code, and shows no secret', () =>
    onSample(async ({ svc }) => {
      const url = 'postgresql://svc:hunter2-and-more@127.0.0.1:1/svc?sslmode=disable';
      const ended = await svc(exported('--connection-string', url, '--verbose'));
      expect(ended).toMatchObject({ code: 6, stdout: '' });
      expect(ended.stderr).toContain('list of processes');
      expect(ended.stderr).toContain('Database: postgresql 127.0.0.1:1/svc');
      expect(ended.stderr).not.toContain('hunter2');
    }));

  test.each(['', 'a/b', '..', 'a\u0000b'.replace('\u0000', '\u0007'), 'x'.repeat(161)])(
    'holds no tenant %j',
    (name) =>
      onSample(async ({ svc }) => {
        const ended = await svc(['canonical-export', ...db, '--tenant', name, '--file', '-']);
        expect(ended).toMatchObject({ code: 2, stdout: '' });
      }),
  );
});

describe('canonical-migrate', () => {
  const migrate = ['canonical-migrate', ...db, '--file', 'm.json'];
  const migration = { namespace: 'billing', id: '0001', checksum: 'sha256:aa', description: 'orders' };

  test('records new migrations and verifies known ones', () =>
    onSample(async ({ at, svc }) => {
      await writeFile(at('m.json'), JSON.stringify([migration]));
      expect(jsonOf(await svc([...migrate, '--output', 'json']))).toMatchObject({ recorded: 1, verified: 0 });
      const receipt = {
        ...migration,
        id: '0002',
        description: null,
        appliedAtUtc: '2026-01-02T03:04:05.678Z',
      };
      await writeFile(at('m.json'), JSON.stringify([migration, receipt]));
      expect(jsonOf(await svc([...migrate, '--output', 'json']))).toMatchObject({ recorded: 1, verified: 1 });
      await writeFile(at('m.json'), '[]');
      expect(jsonOf(await svc([...migrate, '--output', 'json']))).toMatchObject({ recorded: 0, verified: 0 });
    }));

  test('records nothing of a file in which one contradicts the ledger', () =>
    onSample(async ({ at, svc }) => {
      await writeFile(at('m.json'), JSON.stringify([migration]));
      await svc(migrate);
      const contradicting = [
        { ...migration, id: '0002' },
        { ...migration, checksum: 'sha256:bb' },
      ];
      await writeFile(at('m.json'), JSON.stringify(contradicting));
      const ended = await svc(migrate);
      expect(ended).toMatchObject({ code: 4, stdout: '' });
      expect(ended.stderr).toContain('/1/checksum');
      await writeFile(at('m.json'), JSON.stringify([{ ...migration, id: '0002' }]));
      expect(jsonOf(await svc([...migrate, '--output', 'json']))).toMatchObject({ recorded: 1, verified: 0 });
    }));

  const faults: [string, string, string][] = [
    ['is no JSON', '[{', 'not valid JSON'],
    ['is no array', '{}', 'must hold a JSON array'],
    ['misspells a member', '[{"namespace":"a","id":"b","cheksum":"c"}]', '/0/checksum: is missing'],
    [
      'holds too many',
      JSON.stringify(Array.from({ length: 501 }, (_, n) => ({ ...migration, id: `${n}` }))),
      '500',
    ],
  ];
  test.each(faults)('refuses a file that %s', (_, text, message) =>
    onSample(async ({ at, svc }) => {
      await writeFile(at('m.json'), text);
      const ended = await svc(migrate);
      expect(ended).toMatchObject({ code: 1, stdout: '' });
      expect(ended.stderr).toContain(message);
    }),
  );
});

test('every command prints its purpose and examples', async () => {
  for (const command of [
    'canonical-export',
    'canonical-restore',
    'canonical-archive-export',
    'canonical-archive-restore',
    'canonical-archive-verify',
    'canonical-migrate',
  ]) {
    const { code, stdout } = await runTool([command, '--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/\nExamples:\n {2}\$ svc canonical-/);
    expect(stdout).toContain('--verbose');
  }
  expect((await runTool(['--help'])).stdout).toMatch(/Exit codes:\n {2}0 {2}done/);
  expect(await runTool(['canonical-export'])).toMatchObject({ code: 2 });
});
