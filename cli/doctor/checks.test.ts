import { expect, test } from 'vitest';
import { release } from '../../functions/release.ts';
import type { Check } from './check.ts';
import { judgeSpace, nodeCheck } from './machine.ts';
import { clockCheck, exitCodeOfChecks, readinessCheck, versionCheck } from './server.ts';

const statusOf = ({ status }: Check) => status;

test('Node is that of the project, or one to be warned of', () => {
  expect(statusOf(nodeCheck('24.21.0', '24.1.0'))).toBe('ok');
  expect(statusOf(nodeCheck('22.20.0', '24.1.0'))).toBe('warning');
  expect(statusOf(nodeCheck('2.4.0', '24.1.0'))).toBe('warning');
  expect(nodeCheck('26.0.0', '24.1.0')).toMatchObject({
    status: 'warning',
    message: expect.stringContaining('26.0.0'),
  });
});

test('the remedy for another Node names a command that exists there', () => {
  expect(nodeCheck('26.0.0', '24.1.0', true).remedy).toContain('npm start');
  const packaged = nodeCheck('26.0.0', '24.1.0', false).remedy;
  expect(packaged).toMatch(/^Put Node 24 first in PATH/);
  expect(packaged).not.toContain('npm');
});

test('space gets scarce before it is gone', () => {
  const mebibyte = 1024 ** 2;
  const all = 4_096 * mebibyte;
  expect(judgeSpace('/data', 1024 * mebibyte, all)).toMatchObject({
    status: 'ok',
    message: '1.0 GiB free at /data, 75 % of the disk are used.',
  });
  expect(judgeSpace('/data', 1024 * mebibyte - 1, all)).toMatchObject({ status: 'warning' });
  expect(judgeSpace('/data', 64 * mebibyte, all)).toMatchObject({
    status: 'warning',
    message: '64 MiB free at /data, 98 % of the disk are used.',
  });
  expect(judgeSpace('/data', 64 * mebibyte - 1, all)).toMatchObject({ status: 'failed' });
});

test('a disk of which four fifths are used is warned of, however large it is', () => {
  const tebibyte = 1024 ** 4;
  expect(judgeSpace('/data', 0.21 * tebibyte, tebibyte)).toMatchObject({ status: 'ok' });
  expect(judgeSpace('/data', 0.2 * tebibyte, tebibyte)).toMatchObject({ status: 'warning' });
});

test('the check notices that two releases differ', () => {
  expect(statusOf(versionCheck(release.version))).toBe('ok');
  expect(versionCheck('0.0.1')).toMatchObject({
    status: 'warning',
    message: expect.stringContaining(`0.0.1, this tool ${release.version}`),
  });
});

test('clocks may be a minute apart', () => {
  const at = '2026-01-01T00:00:00.000Z';
  const now = Date.parse(at);
  for (const apart of [-60_000, 0, 60_000]) expect(statusOf(clockCheck(at, now + apart))).toBe('ok');
  for (const apart of [-60_001, 60_001]) expect(statusOf(clockCheck(at, now + apart))).toBe('warning');
  expect(clockCheck(at, now + 90_000).message).toContain('90 seconds apart');
  expect(statusOf(clockCheck('yesterday', now))).toBe('warning');
});

test('a service says itself whether it is ready', () => {
  const report = { ready: true, summary: 'Ready.', warnings: [], blockers: [] };
  const judge = (more: object) =>
    readinessCheck({ ...report, ...more } as unknown as Parameters<typeof readinessCheck>[0]);
  expect(statusOf(judge({}))).toBe('ok');
  expect(judge({ warnings: ['It is open.'] })).toMatchObject({
    status: 'warning',
    message: expect.stringContaining('It is open.'),
  });
  expect(judge({ ready: false, blockers: ['No store.'] })).toMatchObject({
    status: 'failed',
    message: expect.stringContaining('No store.'),
  });
  expect(statusOf(readinessCheck(undefined))).toBe('failed');
  const key = { id: 'security.api_key', status: 'warning', message: 'No API key is required.' };
  const access = (status: string) => ({ id: 'security.canonical_access', status, message: 'Callers.' });
  const warnings = [key.message];
  expect(statusOf(judge({ warnings, checks: [key, access('warning')] }))).toBe('warning');
  // Callers prove who they are by tokens.
  expect(statusOf(judge({ warnings, checks: [key, access('ok')] }))).toBe('ok');
  expect(judge({ warnings: [...warnings, 'Other.'], checks: [key, access('ok')] }).message).toBe(
    'Ready. Other.',
  );
});

test('the remedy is that of the warnings', () => {
  const report = { ready: true, summary: 'Ready.', blockers: [] };
  const providers = { id: 'providers.readiness', status: 'warning', message: 'Not proven.' };
  const remedyOf = (...warnings: readonly string[]) =>
    readinessCheck({ ...report, warnings, checks: [providers] } as unknown as Parameters<
      typeof readinessCheck
    >[0]).remedy;
  const prove = 'Prove the capabilities of each provider by qualifyProvider: see docs/providers.md.';
  const others = 'may be intended in Development; otherwise see docs/security.md.';
  expect(remedyOf('Not proven.')).toBe(prove);
  expect(remedyOf('It is open.')).toBe(`This ${others}`);
  expect(remedyOf('It is open.', 'Not proven.')).toBe(`${prove} The rest ${others}`);
});

test('only what failed fails', () => {
  const check = (status: Check['status']): Check => ({ id: 'a', status, message: '', remedy: null });
  expect(exitCodeOfChecks([])).toBe(0);
  expect(exitCodeOfChecks([check('ok'), check('warning')])).toBe(0);
  expect(exitCodeOfChecks([check('ok'), check('failed'), check('warning')])).toBe(1);
});
