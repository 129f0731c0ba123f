import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { functionFaults } from '../../cli/doctor/cloud/function-faults.fixture.ts';
import { found, whole } from '../../cli/doctor/cloud/stage.fixture.ts';
import { storeFaults } from '../../cli/doctor/cloud/store-faults.fixture.ts';
import { routes } from '../support/google-cloud/routes.ts';

/**
 * The Cloud CLI brings the published descriptions of Google's APIs and the parser of its own commands. Both judge here what
 * the preflight calls and which commands it prints.
 */

const folder = mkdtempSync(join(tmpdir(), 'svc-published-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const cloudCli = installation();
const why = cloudCli === undefined ? ' (skipped: there is no Cloud CLI)' : '';

function installation(): string | undefined {
  const asked = spawnSync('gcloud', ['info', '--format=value(installation.sdk_root)'], { encoding: 'utf8' });
  return asked.status === 0 ? asked.stdout.trim() : undefined;
}

/** `GET cloudtasks.googleapis.com v2/projects/{projectsId}/…` of each published method. */
function published(sdk: string): Set<string> {
  const clients = join(sdk, 'lib/googlecloudsdk/generated_clients/apis');
  const methods = new Set<string>();
  for (const host of new Set(routes.map((route) => route.host))) {
    const api = host.split('.', 1).join('');
    for (const file of globSync(`${api}/*/*_client.py`, { cwd: clients })) {
      const text = readFileSync(join(clients, file), 'utf8');
      const calls = text.matchAll(
        /ApiMethodInfo\(\s*(?:flat_path='([^']*)',\s*)?http_method='(\w+)'.*?relative_path='([^']*)'/gs,
      );
      for (const [, flat, method, relative = ''] of calls)
        methods.add(`${method} ${host} ${flat ?? relative}`);
    }
  }
  return methods;
}

describe.skipIf(cloudCli === undefined)(`by the Cloud CLI${why}`, () => {
  test('each call of the preflight is one that Google publishes', () => {
    const methods = published(cloudCli ?? '');
    expect(methods.size).toBeGreaterThan(300);
    // Cloud Storage's description leaves its base path out, and two parts of a name stand for a project.
    const spelling = (host: string, version: string, path: string) =>
      host === 'storage.googleapis.com'
        ? path
        : `${version}/${path}`.replace(
            /^v1\/projects\/\{projectsId\}\/services$/,
            'v1/{v1Id}/{v1Id1}/services',
          );
    const unknown = routes
      .map(({ method, host, version, path }) => `${method} ${host} ${spelling(host, version, path)}`)
      .filter((call) => !methods.has(call));
    expect(unknown).toEqual([]);
  });

  test('the check itself finds a call that Google does not publish', () => {
    expect(
      published(cloudCli ?? '').has('GET cloudtasks.googleapis.com v2/projects/{projectsId}/queues'),
    ).toBe(false);
  });

  test('each command that mends a fault is one that the Cloud CLI parses', async () => {
    const changes = [...storeFaults, ...functionFaults].map(([, change]) => change);
    const commands = new Set<string>();
    for (const change of [whole, ...changes, noRights]) {
      for (const { remedy } of (await found(change)).checks)
        for (const [command] of (remedy ?? '').matchAll(/^.*?\bgcloud .*$/gm))
          commands.add(command.replace(/^.*?\bgcloud /, 'gcloud '));
    }
    expect(commands.size).toBeGreaterThan(30);
    expect(refused([...commands])).toEqual([]);
    expect(refused(['gcloud tasks queues resume svc-runs --locatoin=europe-west1'])).toHaveLength(1);
  });
});

function noRights({ permissions }: { readonly permissions: Set<string> }): void {
  permissions.clear();
}

interface Judged {
  readonly command_string: string;
  readonly success: boolean;
  readonly error_message: string | null;
}

/** The commands that the Cloud CLI's own parser refuses, each with its reason. */
function refused(commands: readonly string[]): string[] {
  const file = join(folder, 'commands.md');
  writeFileSync(file, `\`\`\`sh\n${commands.join('\n')}\n\`\`\`\n`);
  const env = { ...process.env, CLOUDSDK_CONFIG: folder, CLOUDSDK_CORE_DISABLE_PROMPTS: '1' };
  const args = ['meta', 'lint-gcloud-commands', `--commands-text-file=${file}`];
  const judged = JSON.parse(
    execFileSync('gcloud', args, { env, encoding: 'utf8', maxBuffer: 2 ** 28 }),
  ) as Judged[];
  expect(judged).toHaveLength(commands.length);
  return judged
    .filter(({ success }) => !success)
    .map(({ command_string: command, error_message: reason }) => `${command}: ${reason}`);
}
