import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { compileCache } from '../support/compile-cache.ts';

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the tool in a process of its own, in the environment that is given and no other. */
function svc(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const main = resolve(import.meta.dirname, '../../cli/main.ts');
  const PATH = process.env['PATH'] ?? '';
  return new Promise((done) => {
    execFile(
      process.execPath,
      [main, ...args],
      { env: { PATH, ...compileCache, ...env } },
      (error, stdout, stderr) => {
        done({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      },
    );
  });
}

test('a file of variables that is not there is named by the tool, and not by Node', async () => {
  const { scripts } = JSON.parse(
    readFileSync(resolve(import.meta.dirname, '../../package.json'), 'utf8'),
  ) as { readonly scripts: { readonly svc: string } };
  const [, ...words] = scripts.svc.split(' ');
  const cwd = resolve(import.meta.dirname, '../..');
  const given = [...words, 'config', 'check', '--env-file', '/nowhere/svc.env'];
  const { status, stderr } = spawnSync(process.execPath, given, { cwd, encoding: 'utf8' });
  expect([status, stderr]).toEqual([3, '/nowhere/svc.env: there is no such file\n']);
});

test('config show lists every setting in force and its source, and no secret', async () => {
  const env = { SVC_API_KEY: 'hush-hush', PORT: '99' };
  const { code, stdout, stderr } = await svc(['config', 'show', '--all', '--Server:LogLevel=debug'], env);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/Server:Port +99 +environment variable PORT/);
  expect(stdout).toMatch(/Server:LogLevel +debug +command line/);
  expect(stdout).toMatch(/Server:ApiKey +\[secret\] +environment variable SVC_API_KEY/);
  expect(stdout).toMatch(/Server:Host +127\.0\.0\.1 +default/);
  expect(stdout).not.toContain('hush');
});

test('config show --changed leaves the defaults out, and --output json is for programs', async () => {
  const { stdout } = await svc(['config', 'show', '--changed', '--output', 'json', '--port=7']);
  expect(JSON.parse(stdout)).toEqual({
    settings: [{ key: 'Server:Port', value: 7, sources: ['command line'] }],
    faults: [],
  });
});

test('config show leaves out the settings that are at their default, and says how many', async () => {
  const { stdout, stderr } = await svc(['config', 'show', '--port=7']);
  expect(stdout).toBe('SETTING      VALUE  SOURCE\nServer:Port  7      command line\n');
  expect(stderr).toMatch(/^\d\d+ settings are at their default; --all shows them\.\n$/);
});

test('config check ends with 1 and every fault', async () => {
  expect(await svc(['config', 'check'])).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('No settings are given') as string,
  });
  const { code, stderr } = await svc(['config', 'check', '--for', 'functions', '--port=x', '--Sever:Port=1']);
  expect(code).toBe(1);
  expect(stderr).toContain('Server:Port (command line): must be a whole number');
  expect(stderr).toContain('the canonical store does not start without a policy');
});

test.each([
  ['that is not there', 3, null, 'does not exist', 'Correct the path. svc init writes a settings file.'],
  [
    'of broken JSON',
    2,
    '{ "Server": ',
    'is not valid JSON',
    'Correct the file or the argument that the message names.',
  ],
])(
  'config check of a file %s names the fault and the file once, and ends with %i',
  async (_, exit, text, fault, remedy) => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-check-'));
    try {
      const file = join(folder, 's.json');
      if (text !== null) writeFileSync(file, text);
      const { code, stdout, stderr } = await svc(['config', 'check', file]);
      expect([code, stdout]).toEqual([exit, '']);
      expect((await svc(['config', 'show', '--settings', file])).code).toBe(exit);
      expect(stderr.replace(/ \(line \d+ column \d+\)/, '')).toBe(
        `The configuration has a fault:\n  ${file}: ${fault}\n    -> ${remedy}\n`,
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

test('config check refuses the names of the examples outside an embedded server in Development', async () => {
  const check = (...words: readonly string[]) =>
    svc([
      'config',
      'check',
      '--output',
      'json',
      '--Server:CanonicalAccess:AllowedAudiences:0=https://svc.example.com',
      ...words,
    ]);
  const found = (stdout: string) =>
    (
      JSON.parse(stdout) as { findings: readonly { key: string; severity: string; source: string }[] }
    ).findings
      .filter(({ key }) => key.startsWith('Server:CanonicalAccess:AllowedAudiences:'))
      .map(({ key, severity, source }) => `${severity} ${key} ${source}`);
  const fault = 'fault Server:CanonicalAccess:AllowedAudiences:0 command line';
  const functions = await check('--for', 'functions', '--Firestore:ProjectId=own');
  expect([functions.code, found(functions.stdout)]).toEqual([1, [fault]]);
  const deployed = await check(
    '--for',
    'functions',
    '--Firestore:ProjectId=own',
    '--Environment=Development',
  );
  expect([deployed.code, found(deployed.stdout)]).toEqual([1, [fault]]);
  expect(found((await check('--Environment=Production')).stdout)).toEqual([fault]);
  const development = await check('--Environment=Development');
  expect([development.code, found(development.stdout)]).toEqual([0, []]);
});

test('config check warns of a file that others can read only where a secret stands in it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-check-'));
  try {
    const file = join(folder, 's.json');
    const key = join(folder, 'key');
    const entry = { Id: 'p', Kind: 'openai-compatible', Model: 'm', BaseAddress: 'https://models.example' };
    const provider = { ...entry, Capabilities: ['ai.chat'], MaxOutputTokensPerMinute: 1, ApiKeyFile: key };
    const write = (more: object) => writeFileSync(file, JSON.stringify({ Providers: [provider], ...more }));
    writeFileSync(key, 'hush', { mode: 0o600 });
    write({});
    chmodSync(file, 0o644);
    const check = () => svc(['config', 'check', file]);
    expect((await check()).stderr).not.toContain('secret');
    write({ Server: { ApiKeys: ['hush-hush'] } });
    expect((await check()).stderr).toContain(
      `warning: Server:ApiKeys:0 (${file}): is a secret, and other users of this machine can read ${file}`,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('api-key create prints a key once, with the hash that the service is given', async () => {
  const { code, stdout } = await svc(['api-key', 'create']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    key: expect.stringMatching(/^svc_live_[\w-]{49}$/),
    hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
  });
});

test('help and version end with 0, a command that is not known with 2', async () => {
  expect(await svc(['--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('config') });
  expect(await svc(['--version'])).toMatchObject({ code: 0 });
  expect(await svc(['confg'])).toMatchObject({ code: 2, stderr: expect.stringContaining('--help') });
});
