import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OidcIssuer, startOidcIssuer } from '../../emulator/oidc-issuer.ts';
import { startTasksEmulator, type TasksEmulator } from '../../emulator/tasks/tasks-emulator.ts';
import description from '../../package.json' with { type: 'json' };
import { readConfiguration } from '../infra/configuration.ts';
import { CloudStorageServer } from '../support/cloud-storage.ts';
import { DeployCloud } from '../support/deploy/cloud.ts';
import { runGcloud } from '../support/deploy/gcloud.ts';
import { fenced, linesOf, sectionsOf } from '../support/deploy/page.ts';
import { Platform } from '../support/deploy/platform.ts';
import { builder, DeployReader, ownDomain, publicAddress } from '../support/deploy/reader.ts';
import { Terraform } from '../support/deploy/terraform.ts';
import { firestoreHost, firestoreMissing } from '../support/firestore.ts';
import { functionNames } from '../support/google-cloud/deployment.ts';
import { emptyProject } from '../support/google-cloud/project.ts';
import { GoogleCloudServer } from '../support/google-cloud/server.ts';
import type { Ended } from '../support/operator-tool.ts';
import { root } from './program.ts';

/**
 * `docs/deploy.md`, typed from its first block to its last: the tool, the build and the functions are real, over the Firestore
 * emulator and the emulator of Cloud Tasks; `gcloud`, `terraform` and Google's APIs are stand-ins.
 */

const page = readFileSync(join(root, 'docs/deploy.md'), 'utf8');
const projectId = `svc-deploy-${randomBytes(4).toString('hex')}`;
const next = `${description.version}-next`;
const left = firestoreMissing === undefined ? '' : ` (skipped: ${firestoreMissing})`;

interface World {
  readonly issuer: OidcIssuer;
  readonly tasks: TasksEmulator;
  readonly platform: Platform;
  readonly storage: CloudStorageServer;
  readonly cloud: DeployCloud;
  readonly google: GoogleCloudServer;
  readonly reader: DeployReader;
}

let world: World;

async function start(): Promise<World> {
  const reader = new DeployReader();
  const issuer = await startOidcIssuer();
  const queue = `projects/${projectId}/locations/europe-west1/queues/svc-runs`;
  const retryConfig = { maxAttempts: -1, minBackoff: { seconds: 1 }, maxBackoff: { seconds: 60 } };
  const tasks = await startTasksEmulator({ issuer, queues: [{ name: queue, retryConfig }] });
  const storage = await CloudStorageServer.start(`${projectId}-svc-artifacts`);
  const platform = await Platform.start({
    folder: reader.folder,
    issuer,
    firestoreHost: firestoreHost(),
    tasksHost: `${tasks.host}:${tasks.port}`,
    storageEndpoint: storage.endpoint,
  });
  const cloud = await DeployCloud.start({
    projectId,
    platform,
    issuer,
    build: builder([description.version, next]),
  });
  const google = await GoogleCloudServer.start(cloud.project);
  reader.env = {
    STAND_IN: cloud.address,
    STAND_IN_ADDRESS: platform.router.url,
    GOOGLE_APIS_ENDPOINT: google.endpoint,
    GOOGLE_OAUTH_ACCESS_TOKEN: google.token,
    FIRESTORE_EMULATOR_HOST: firestoreHost(),
  };
  return { issuer, tasks, platform, storage, cloud, google, reader };
}

/** The names of the reader in place of those of the page. */
const filledIn = (text: string) =>
  text.replaceAll('my-project', projectId).replaceAll('svc.example.com', ownDomain);

/** Types a section of the page, and resolves with what was printed. */
async function follow(title: string): Promise<Ended> {
  const section = sectionsOf(page).find((each) => each.title === title);
  expect(section, title).toBeDefined();
  const ended = await world.reader.run(filledIn(section?.script ?? ''));
  expect(ended.code, `${title}\n${ended.stdout}${ended.stderr}`).toBe(0);
  return ended;
}

/** `body`: absent for a GET, `null` for a POST without one. */
async function as(
  account: string,
  path: string,
  body?: object | null,
  audience = publicAddress,
): Promise<Response> {
  const email = `${account}@${projectId}.iam.gserviceaccount.com`;
  const authorization = `Bearer ${await world.issuer.mint({ email, audience })}`;
  const address = path.startsWith('http') ? path : `${world.platform.router.url}${path}`;
  if (body === undefined) return fetch(address, { headers: { authorization } });
  if (body === null) return fetch(address, { method: 'POST', headers: { authorization } });
  const headers = { authorization, 'content-type': 'application/json' };
  return fetch(address, { method: 'POST', headers, body: JSON.stringify(body) });
}

const document = '/canonical/tenants/acme/documents/claim/1042';

async function version(): Promise<string> {
  const health = (await (await fetch(`${world.platform.router.url}/health`)).json()) as { version: string };
  return health.version;
}

interface Lease {
  readonly leaseKey: string;
  readonly leaseToken: string;
  readonly run: { readonly id: string };
}

const workerId = 'claims-worker';

/** Follows a section while the document is read on and on, and resolves with the statuses of the reads too. */
async function followWhileReading(
  title: string,
): Promise<Ended & { readonly statuses: ReadonlySet<number> }> {
  const statuses = new Set<number>();
  const following = new AbortController();
  const reading = async () => {
    while (!following.signal.aborted) statuses.add((await as('claims-api', document)).status);
    // It reads faster than the limit of its address allows.
    statuses.delete(429);
  };
  const [ended] = await Promise.all([follow(title).finally(() => following.abort()), reading()]);
  return { ...ended, statuses };
}

describe.skipIf(firestoreMissing !== undefined)(`the page, from top to bottom${left}`, () => {
  beforeAll(async () => {
    world = await start();
  });
  afterAll(async () => {
    const { issuer, tasks, platform, storage, cloud, google, reader } = world;
    await platform[Symbol.asyncDispose]();
    await Promise.all([cloud, google, storage].map((each) => each[Symbol.asyncDispose]()));
    await tasks.stop();
    await issuer.stop();
    reader.remove();
  });

  let lease: Lease;

  test('prepares the project', async () => {
    await follow('');
    const { stdout } = await follow('Prepare the project');
    expect(stdout).toMatch(/^ok +cloud-credentials/m);
    expect(stdout).toMatch(/^warning +cloud-apis +14 APIs of the project are off/m);
  });

  test('refuses the settings of the example until the names in them are filled in', async () => {
    const deployment = 'infra/environments/production';
    const settings = join(deployment, 'svcsettings.json');
    const check = `svc config check "--settings=${settings}" --for functions`;
    const refused = await world.reader.run(check);
    expect(refused.code).toBe(1);
    for (const name of ['my-project', 'svc.example.com'])
      expect(refused.stderr).toContain(`holds ${name}, which stands in the examples`);
    for (const file of [join(deployment, 'terraform.tfvars'), settings]) world.reader.edit(file, filledIn);
    const more = JSON.parse(filledIn(fenced(page, 'json'))) as object;
    world.reader.edit(settings, (text) => JSON.stringify(merged(JSON.parse(text) as object, more), null, 2));
    expect((await follow('Fill in the settings')).stdout).toContain('The configuration has no fault');
  });

  test('deploys, and the preflight finds no fault', async () => {
    const { stdout } = await follow('Deploy');
    expect(stdout).toContain('Ready to deploy: dist/functions.zip');
    expect(stdout).not.toMatch(/^(warning|failed) +cloud/m);
    expect(await version()).toBe(description.version);
  });

  test('makes a first commit and a first run, which a worker executes', async () => {
    const { stdout } = await follow('First calls');
    expect(stdout).toMatch(/^warning +server-readiness +Ready/m);
    expect(stdout).toContain('claim.assess');
    expect((await as('claims-api', document)).status).toBe(200);
    const leased = await as('claims-worker', '/execution/workers/leases', {
      workerId,
      handlerIds: ['claim.assess'],
      // A slow machine follows the sections of the page for minutes.
      ttlSeconds: 3_600,
    });
    expect(leased.status, await leased.clone().text()).toBe(200);
    lease = (await leased.json()) as Lease;
    const reconciled = await as(
      'svc-scheduler',
      world.platform.addressOf('reconcile'),
      null,
      'https://svc-reconcile-1.europe-west1.run.app',
    );
    expect(reconciled.status, await reconciled.clone().text()).toBe(200);
  });

  test('upgrades: no read fails, and the worker keeps its lease', async () => {
    const { statuses } = await followWhileReading('Upgrade');
    expect(statuses).toEqual(new Set([200]));
    expect(await version()).toBe(next);
    expect(new Set(world.cloud.deployed).size).toBe(2);
    const { leaseKey, leaseToken } = lease;
    const proof = { leaseKey, leaseToken, workerId };
    expect((await as('claims-worker', '/execution/workers/leases/heartbeat', proof)).status).toBe(200);
  });

  test('rolls back: the data and the lease are still there', async () => {
    const { stdout, statuses } = await followWhileReading('Roll back');
    expect(statuses).toEqual(new Set([200]));
    expect(stdout).not.toMatch(/^failed/m);
    expect(await version()).toBe(description.version);
    expect(world.cloud.deployed.at(-1)).toBe(world.cloud.deployed[0]);
    const { leaseKey, leaseToken, run } = lease;
    const proof = { leaseKey, leaseToken, workerId };
    const completed = await as('claims-worker', '/execution/workers/leases/complete', {
      ...proof,
      result: { result: 'paid' },
    });
    expect(completed.status, await completed.clone().text()).toBe(200);
    const ended = (await (await as('claims-api', `/execution/runs/${run.id}`)).json()) as object;
    expect(ended).toMatchObject({ status: 'succeeded', result: 'paid' });
  });

  test('refuses to destroy protected resources, and buckets with objects', async () => {
    const [plan = '', apply = ''] = linesOf(page, 'terraform').slice(-2);
    const typed = async (...lines: readonly string[]) => world.reader.run(filledIn(lines.join('\n')));
    const isProtected = await typed(plan, apply);
    expect(isProtected).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('deletion_policy is PREVENT') as string,
    });
    const [unprotect = '', applied = ''] = linesOf(page, 'terraform').slice(-4, -2);
    const full = await typed(unprotect, applied, plan, apply);
    expect(full).toMatchObject({ code: 1, stderr: expect.stringContaining('containing objects') as string });
    expect(await version()).toBe(description.version);
  });

  test('destroys all but the state and the copies', async () => {
    await follow('Destroy');
    expect([...world.cloud.project.resources.keys()].sort()).toEqual([
      `b/${projectId}-terraform`,
      `projects/${projectId}/serviceAccounts/claims-api@${projectId}.iam.gserviceaccount.com`,
    ]);
    expect(world.reader.read('backups/acme-last/manifest.json')).toContain('acme');
    expect(await (await fetch(`${world.platform.router.url}/health`)).json()).toMatchObject({
      code: 'unavailable',
    });
  });

  test('every command of the page was run', () => {
    const typed = sectionsOf(page).flatMap(({ script }) =>
      script.split('\n').filter((line) => /^(gcloud|terraform|npm) /.test(line)),
    );
    expect(world.cloud.commands.length).toBe(typed.length + 6);
  });
});

describe('the stand-ins are as Terraform and the Cloud CLI are', () => {
  test('the functions get the variables that Terraform sets', async () => {
    const { locals } = await readConfiguration(join(root, 'infra'));
    expect(functionNames.sort()).toEqual(
      Object.keys({ ...(locals['groups'] as object), ...(locals['internal'] as object) }).sort(),
    );
    const names = Object.keys(locals['environment'] as object).sort();
    const cloud = await DeployCloud.start({
      projectId,
      platform: { router: { url: '' } } as Platform,
      issuer: {} as OidcIssuer,
      build: () => Promise.resolve(),
    });
    await using _ = cloud;
    expect(cloud.environmentNames).toEqual(names);
  });

  const has = (program: string) => spawnSync(program, ['--version']).status === 0;

  test.skipIf(!has('gcloud'))('the Cloud CLI parses each command of the page', () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-deploy-gcloud-'));
    try {
      const lines = linesOf(page, 'gcloud');
      expect(lines.length).toBeGreaterThan(6);
      const file = join(folder, 'commands.md');
      writeFileSync(file, `\`\`\`sh\n${lines.join('\n')}\n\`\`\`\n`);
      const env = { ...process.env, CLOUDSDK_CONFIG: folder, CLOUDSDK_CORE_DISABLE_PROMPTS: '1' };
      const args = ['meta', 'lint-gcloud-commands', `--commands-text-file=${file}`];
      const judged = JSON.parse(
        execFileSync('gcloud', args, { env, encoding: 'utf8', maxBuffer: 2 ** 28 }),
      ) as {
        command_string: string;
        success: boolean;
        error_message: string | null;
      }[];
      expect(
        judged.map(({ success, command_string: line, error_message: why }) =>
          success ? '' : `${line}: ${why}`,
        ),
      ).toEqual(lines.map(() => ''));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test.skipIf(!has('terraform'))('Terraform knows each command and option of the page', () => {
    const env = { ...process.env, TF_CLI_CONFIG_FILE: '/dev/null', CHECKPOINT_DISABLE: '1' };
    for (const line of linesOf(page, 'terraform')) {
      const [, , verb = '', ...words] = line.split(' ');
      const help = execFileSync('terraform', [verb, '-help'], { env, encoding: 'utf8' });
      for (const word of words.filter((each) => each.startsWith('-')))
        expect(help, `${verb} ${word}`).toMatch(new RegExp(`^ +${word.replace(/=.*$/s, '')}\\b`, 'm'));
    }
  });
});

describe('the check itself finds', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-deploy-check-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const terraform = new Terraform({ apply: () => Promise.resolve({}), output: () => undefined });
  const typed = (line: string) => terraform.run({ args: line.split(' '), cwd: folder });
  beforeAll(() => {
    writeFileSync(join(folder, 'main.tf'), 'variable "bundle" {}\n');
    writeFileSync(join(folder, 'terraform.tfvars'), '');
  });

  test.each([
    ['a plan before init', '-chdir=. plan -out=a.tfplan', 'Backend initialization required'],
    ['an option that is misspelt', '-chdir=. plan -outt=a.tfplan', 'Failed to parse'],
    ['a folder without a configuration', '-chdir=bin plan -out=a.tfplan', 'No configuration files'],
  ])('%s', async (_, line, reason) => {
    expect(await typed(line)).toMatchObject({ code: 1, stderr: expect.stringContaining(reason) as string });
  });

  test('a variable that no configuration has, a bundle and a plan that are missing', async () => {
    await typed('-chdir=. init -backend-config=bucket=state');
    const refusedBy = async (line: string) => (await typed(line)).stderr;
    expect(await refusedBy('-chdir=. plan -var=bundel=x -out=a.tfplan')).toContain(
      'undeclared variable: bundel',
    );
    expect(await refusedBy('-chdir=. plan -var=bundle=x.zip -out=a.tfplan')).toContain('no such file');
    expect(await refusedBy('-chdir=. apply a.tfplan')).toContain('as a plan file');
    expect(await refusedBy('-chdir=. output -json svc')).toContain('not found');
  });

  test('a command of the Cloud CLI that it does not know', async () => {
    const said = await runGcloud(emptyProject(projectId), {} as OidcIssuer, [
      'projects',
      'delete',
      projectId,
    ]);
    expect(said).toMatchObject({ code: 1 });
  });
});

/** Objects member by member, lists one after the other. */
function merged(one: unknown, other: unknown): unknown {
  if (Array.isArray(one) && Array.isArray(other)) return [...(one as unknown[]), ...(other as unknown[])];
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return other;
  const result: Record<string, unknown> = { ...one };
  for (const [name, value] of Object.entries(other))
    result[name] = name in one ? merged(result[name], value) : value;
  return result;
}
