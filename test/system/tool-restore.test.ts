import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import {
  changeTenant,
  hashIn,
  jsonOf,
  onSample,
  sampleCounts,
  type ToolBench,
  SAMPLE_TENANT as tenant,
} from '../support/operator-tool.ts';

/** Tenants that come back from a JSON file, by the operator tool. */

const db = ['--db', 'svc.sqlite'];

describe('canonical-restore', () => {
  const restore = (...args: string[]) => [
    'canonical-restore',
    ...db,
    '--tenant',
    tenant,
    '--file',
    'a.json',
    ...args,
  ];

  async function exportedThenChanged(
    bench: ToolBench,
  ): Promise<{ copy: string; live: string; snapshot: string }> {
    const { at, svc } = bench;
    await svc(['canonical-export', ...db, '--tenant', tenant, '--file', 'a.json']);
    const copy = await hashIn(at('svc.canonical.sqlite'));
    const live = await changeTenant(at('svc.canonical.sqlite'));
    return { copy, live, snapshot: String(await readFile(at('a.json'))) };
  }

  test('restores the tenant, and changes no other tenant', () =>
    onSample(async (bench) => {
      const { at, svc } = bench;
      const { copy, live } = await exportedThenChanged(bench);
      expect(live).not.toBe(copy);
      const theirs = await hashIn(at('svc.canonical.sqlite'), 'tenant-b');
      const ended = await svc(restore('--yes', '--output', 'json'));
      expect([ended.code, ended.stderr]).toEqual([0, '']);
      expect(jsonOf(ended)).toMatchObject({ tenantId: tenant, counts: sampleCounts, contentHash: copy });
      expect(await hashIn(at('svc.canonical.sqlite'))).toBe(copy);
      expect(await hashIn(at('svc.canonical.sqlite'), 'tenant-b')).toBe(theirs);
    }));

  test('asks for confirmation, and so changes nothing without a terminal', () =>
    onSample(async (bench) => {
      const { live } = await exportedThenChanged(bench);
      const ended = await bench.svc(restore(), { input: `${tenant}\n` });
      expect(ended).toMatchObject({ code: 2, stdout: '' });
      expect(ended.stderr).toContain('--yes');
      expect(await hashIn(bench.at('svc.canonical.sqlite'))).toBe(live);
    }));

  test('prints its plan in a dry run, and changes nothing', () =>
    onSample(async (bench) => {
      const { copy, live } = await exportedThenChanged(bench);
      const ended = await bench.svc(restore('--dry-run', '--output', 'json'));
      expect([ended.code, ended.stderr]).toEqual([0, 'Nothing was changed: this was a dry run.\n']);
      expect(jsonOf(ended)).toEqual({
        dryRun: true,
        file: bench.at('a.json'),
        tenantId: tenant,
        database: `sqlite ${bench.at('svc.canonical.sqlite')}`,
        current: { counts: { commits: 3, documents: 3, events: 4, fences: 1 }, contentHash: live },
        replacement: { counts: sampleCounts, contentHash: copy },
        sameContent: false,
      });
      expect(await hashIn(bench.at('svc.canonical.sqlite'))).toBe(live);
    }));

  test('takes the content of the hash that is expected, and no other', () =>
    onSample(async (bench) => {
      const { copy, live } = await exportedThenChanged(bench);
      const other = `sha256:${'0'.repeat(64)}`;
      const refused = await bench.svc(restore('--yes', '--expected-content-hash', other));
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      // Not reported as damage.
      expect(refused.stderr).toMatch(/not the one that was expected\. Nothing was replaced\.\n$/);
      expect(await hashIn(bench.at('svc.canonical.sqlite'))).toBe(live);
      for (const blank of ['', 'sha256:0', copy.toUpperCase()]) {
        expect(await bench.svc(restore('--yes', '--expected-content-hash', blank))).toMatchObject({
          code: 2,
        });
      }
      expect(await bench.svc(restore('--yes', '--expected-content-hash', copy))).toMatchObject({ code: 0 });
      expect(await hashIn(bench.at('svc.canonical.sqlite'))).toBe(copy);
    }));

  const damages: [string, (text: string) => string, RegExp][] = [
    ['of another tenant', (text) => text.replaceAll('tenant-a', 'tenant-b'), /copy of another tenant/],
    ['with a value changed', (text) => text.replaceAll('"score":1', '"score":2'), /hash/],
    ['that is cut short', (text) => text.slice(0, -10), /a\.json: The body is not valid JSON/],
    ['with a member twice', (text) => text.replace('{"tenantId"', '{"tenantId":"x","tenantId"'), /a\.json/],
    ['that is empty', () => '', /a\.json/],
  ];
  test.each(damages)('refuses a file %s', (_, damage, message) =>
    onSample(async (bench) => {
      const { live, snapshot } = await exportedThenChanged(bench);
      await writeFile(bench.at('a.json'), damage(snapshot));
      for (const mode of ['--yes', '--dry-run']) {
        const ended = await bench.svc(restore(mode));
        expect(ended).toMatchObject({ code: 1, stdout: '' });
        expect(ended.stderr).toMatch(message);
        expect(ended.stderr).toMatch(/Nothing was replaced\.\n$/);
        expect(ended.stderr).not.toContain('    at ');
      }
      expect(await hashIn(bench.at('svc.canonical.sqlite'))).toBe(live);
    }),
  );

  test('moves a tenant through a pipe, into a database that is made when asked to', () =>
    onSample(async ({ at, svc }) => {
      const { stdout } = await svc(['canonical-export', ...db, '--tenant', tenant, '--file', '-']);
      const into = ['canonical-restore', '--db', 'new.sqlite', '--tenant', tenant, '--file', '-', '--yes'];
      expect(await svc(into, { input: stdout })).toMatchObject({ code: 3 });
      expect(
        await svc([...into, '--create'], { input: stdout.replace('"score":1', '"score":2') }),
      ).toMatchObject({
        code: 1,
      });
      expect(existsSync(at('new.canonical.sqlite'))).toBe(false);
      expect(await svc([...into, '--create'], { input: stdout })).toMatchObject({ code: 0 });
      expect(await hashIn(at('new.canonical.sqlite'))).toBe(await hashIn(at('svc.canonical.sqlite')));
    }));

  test('of a missing file reports that', () =>
    onSample(async ({ svc }) => {
      const ended = await svc(restore('--yes'));
      expect(ended).toMatchObject({
        code: 3,
        stderr: 'a.json: there is no such file\n',
      });
    }));
});
