import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import description from '../../package.json' with { type: 'json' };
import { buildServer, type ServerReport } from '../../scripts/build/server.ts';
import { hashesOf } from '../security/bundle.ts';
import { emptyProject } from '../support/google-cloud/project.ts';
import { GoogleCloudServer } from '../support/google-cloud/server.ts';
import { commit, Program } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-server-package-'));
const unpacked = join(folder, 'opt');
const data = join(folder, 'data');
let report: ServerReport;

beforeAll(async () => {
  report = await buildServer(join(folder, 'dist'));
  mkdirSync(unpacked);
  execFileSync('tar', ['-xzf', report.archive, '-C', unpacked]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A program of the unpacked archive, outside of this project and without any installed package. */
function start(program: 'svc' | 'svc-server', words: readonly string[] = []): Program {
  const path = join(unpacked, 'package/bin', program);
  return new Program([path, ...words], { cwd: folder, env: { SVC_DATA_DIR: data } });
}

async function output(words: readonly string[]): Promise<string> {
  await using program = start('svc', words);
  expect(await program.exit, program.stderr).toEqual({ code: 0, signal: null });
  return program.stdout;
}

describe('the package of the embedded server and the tool', () => {
  test('is within its budgets, has no dependencies, and the same bytes in every folder', async () => {
    expect(report.faults).toEqual([]);
    const own: unknown = JSON.parse(readFileSync(join(report.folder, 'package.json'), 'utf8'));
    expect(own).toMatchObject({ version: description.version, bin: { svc: 'bin/svc' } });
    expect(own).not.toHaveProperty('dependencies');
    const other = await buildServer(join(folder, 'another place'));
    expect(hashesOf(other.folder)).toEqual(hashesOf(report.folder));
    expect(readFileSync(other.archive).equals(readFileSync(report.archive))).toBe(true);
  });

  test('serves, keeps committed writes over a restart, and shows its guides', async () => {
    for (const replayed of [false, true]) {
      await using server = start('svc-server', ['--Server:Port=0']);
      const [, url = ''] = await server.says(/ready at (http:\S+)/);
      expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ version: description.version });
      const answer = await commit(url, 'acme', 'first');
      expect(await answer.json()).toMatchObject({ replayed });
      expect(await (await fetch(`${url}/docs/databases`)).text()).toContain('<h1 id="databases">');
      server.signal('SIGTERM');
      expect(await server.exit).toEqual({ code: 0, signal: null });
    }
  });

  test('names in its help and in the next steps the commands that work there', async () => {
    await using server = start('svc-server', ['--help']);
    expect(await server.exit).toEqual({ code: 0, signal: null });
    expect(server.stdout).toContain('Usage: svc-server [--Key=value …]');
    const steps = await output(['init', '--out', 'made', '--tenant', 'acme', '--product', 'shop', '--yes']);
    expect(steps).toContain('2. svc-server --settings made/svcsettings.json');
    expect(server.stdout + steps).not.toContain('npm ');
  });

  test('has the tool, which needs nothing beside it', async () => {
    expect(await output(['--version'])).toBe(`${description.version}\n`);
    expect(await output(['config', 'check'])).not.toBe('');
    expect(await output(['doctor', '--output', 'json'])).toContain('"node"');
    expect(await output(['api', 'startExecutionRun', '--help'])).toContain('handlerId');
  });

  test('checks a project in Google Cloud with the credentials of the machine', async () => {
    const project = emptyProject('my-project');
    await using google = await GoogleCloudServer.start(project);
    const credentials = join(folder, 'credentials.json');
    writeFileSync(join(folder, 'token.jwt'), 'a.b.c');
    writeFileSync(credentials, google.credentialFile(join(folder, 'token.jwt')));
    const words = ['doctor', '--cloud', '--project', 'my-project', '--json'];
    await using tool = new Program([join(unpacked, 'package/bin/svc'), ...words], {
      cwd: folder,
      env: { GOOGLE_APIS_ENDPOINT: google.endpoint, GOOGLE_APPLICATION_CREDENTIALS: credentials },
    });
    expect(await tool.exit, tool.stdout).toEqual({ code: 0, signal: null });
    expect(tool.stdout).toContain('Google accepts the credentials of this machine.');
  });
});
