import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { addIdentity } from './add-identity.ts';
import type { InitAnswers } from './answers.ts';
import { credentialFiles } from './credentials.ts';
import { writeFiles } from './files.ts';
import { settingsOf } from './plan.ts';

/** `svc init --add-identity` on settings that `svc init` wrote. */

let out: string;
beforeEach(() => {
  out = mkdtempSync(join(tmpdir(), 'svc-identity-'));
});
afterEach(() => rmSync(out, { recursive: true, force: true }));

const world = new ManualWorld();
const at = (name: string) => join(out, name);
const textOf = (name: string) => readFileSync(at(name), 'utf8');
interface Policy {
  readonly Principal: string;
}
type Settings = Readonly<Record<string, Readonly<Record<string, { readonly IdentityPolicies: Policy[] }>>>>;
const policiesOf = (principal: string) => {
  const { Server = {} } = JSON.parse(textOf('svcsettings.json')) as Settings;
  const lists = Object.entries(Server).filter(([name]) => name.endsWith('Access'));
  return Object.fromEntries(
    lists.map(([name, { IdentityPolicies }]) => [
      name,
      IdentityPolicies.filter(({ Principal }) => Principal === principal),
    ]),
  );
};

async function written(more: Partial<InitAnswers> = {}): Promise<void> {
  const answers: InitAnswers = {
    out,
    folder: out,
    database: 'sqlite',
    dataDirectory: at('data'),
    connectionString: null,
    tenants: ['acme'],
    product: 'shop',
    handlers: ['refund.pay'],
    identity: { kind: 'own' },
    audience: 'svc',
    principals: { app: 'app', worker: 'worker', operator: 'operator' },
    workerId: 'worker-1',
    apiKey: false,
    port: null,
    proxies: 1,
    functions: false,
    scheduler: null,
    cloud: null,
    ...more,
  };
  const text = `${JSON.stringify(settingsOf(answers), null, 2)}\n`;
  const settings = { name: 'svcsettings.json', text, secret: false, purpose: '' };
  await writeFiles(out, [settings, ...(await credentialFiles(answers, world))], false);
}

const add = (principal: string, tenants: readonly string[] | null = null) =>
  addIdentity({ out, principal, tenants }, world);

test('the identity gets the grants of the application, and a token', async () => {
  await written();
  const before = policiesOf('app');
  const said = await add('reports');
  const renamed = JSON.parse(JSON.stringify(before).replaceAll('"app"', '"reports"')) as unknown;
  expect(policiesOf('reports')).toEqual(renamed);
  expect(policiesOf('app')).toEqual(before);
  expect(Object.values(before).every((list) => list.length === 1)).toBe(true);
  const [, claims = ''] = textOf('reports.token').split('.');
  expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
    sub: 'reports',
    aud: 'svc',
  });
  expect(statSync(at('reports.token')).mode & 0o777).toBe(0o600);
  expect(said).toContain('reports may do what app may');
  expect(said).not.toContain('API key');
});

test('it gets another tenant where one is named, and the product allows it', async () => {
  await written({ tenants: ['*'] });
  await add('reports', ['beta']);
  const { CanonicalAccess, ExecutionAccess, RecordAccess, ProviderAccess } = policiesOf('reports');
  expect(CanonicalAccess).toMatchObject([{ AllowedTenantIds: ['beta'] }]);
  expect(ExecutionAccess).toMatchObject([{ AllowedTenantIds: ['beta'] }]);
  expect([RecordAccess, ProviderAccess]).toMatchObject([[{ Space: 'beta' }], [{ Space: 'beta' }]]);
  rmSync(out, { recursive: true });
  await written();
  const said = await add('reports', ['beta']);
  expect(JSON.parse(textOf('svcsettings.json'))).toMatchObject({
    ExecutionRuntime: { ProductPolicies: [{ AllowedTenantIds: ['acme', 'beta'] }] },
  });
  expect(said).toContain('ExecutionRuntime:ProductPolicies:0:AllowedTenantIds');
});

test('more tenants than the one space of a policy can hold are refused, and nothing is written', async () => {
  await written();
  const before = textOf('svcsettings.json');
  const message =
    'a policy of Server:RecordAccess names one Space, so reports can have one tenant and not 2: name one with --tenant, and add an identity for each other one. Nothing was written.';
  await expect(add('reports', ['beta', 'gamma'])).rejects.toThrow(message);
  expect(textOf('svcsettings.json')).toBe(before);
  expect(readdirSync(out)).not.toContain('reports.token');
});

test('it gets an API key where callers need one; the key is printed once and kept nowhere', async () => {
  await written({ apiKey: true });
  const first = textOf('api-keys.json');
  const said = await add('reports');
  const key = /shown once: (\S+)/.exec(said)?.[1] ?? '';
  expect(key.length).toBeGreaterThan(20);
  const { keys } = JSON.parse(textOf('api-keys.json')) as {
    readonly keys: readonly { readonly id: string }[];
  };
  expect(keys.map(({ id }) => id)).toEqual(['first', 'reports']);
  expect(keys[0]).toEqual((JSON.parse(first) as { readonly keys: readonly unknown[] }).keys[0]);
  for (const name of ['api-keys.json', 'svcsettings.json', 'reports.token'])
    expect(textOf(name)).not.toContain(key);
});

test.each(['600', '640', '664'])('files of the mode %s keep it', async (digits) => {
  const mode = Number.parseInt(digits, 8);
  await written({ apiKey: true });
  const names = ['svcsettings.json', 'api-keys.json'];
  for (const name of names) chmodSync(at(name), mode);
  await add('reports');
  expect(names.map((name) => statSync(at(name)).mode & 0o777)).toEqual([mode, mode]);
});

test('files behind links stay behind them', async () => {
  await written({ apiKey: true });
  const names = ['svcsettings.json', 'api-keys.json'];
  mkdirSync(at('elsewhere'));
  for (const name of names) {
    renameSync(at(name), at(`elsewhere/${name}`));
    symlinkSync(`elsewhere/${name}`, at(name));
  }
  await add('reports');
  for (const name of names) {
    expect(lstatSync(at(name)).isSymbolicLink()).toBe(true);
    expect(textOf(`elsewhere/${name}`)).toContain('"reports"');
  }
  expect(readdirSync(at('elsewhere')).toSorted()).toEqual(names.toSorted());
});

test('a call that cannot write one file writes none, and can be repeated', async () => {
  await written({ apiKey: true });
  const before = ['svcsettings.json', 'api-keys.json'].map(textOf);
  const names = readdirSync(out).toSorted();
  mkdirSync(at('svcsettings.json.part'));
  await expect(add('reports')).rejects.toThrow(
    /svcsettings\.json cannot be written: .* Nothing was written\./,
  );
  rmSync(at('svcsettings.json.part'), { recursive: true });
  expect(['svcsettings.json', 'api-keys.json'].map(textOf)).toEqual(before);
  expect(readdirSync(out).toSorted()).toEqual(names);
  expect(await add('reports')).toContain('shown once: ');
});

test('a principal that has policies, or a token that is there, is refused and nothing is written', async () => {
  await written();
  const before = textOf('svcsettings.json');
  await expect(add('worker')).rejects.toThrow('policies of the principal worker already');
  writeFileSync(at('reports.token'), 'mine');
  await expect(add('reports')).rejects.toThrow('reports.token is there already');
  expect([textOf('svcsettings.json'), textOf('reports.token')]).toEqual([before, 'mine']);
});

test.each<[string, (text: string) => string, string]>([
  ['no JSON', () => '{ // mine', 'it is not plain JSON'],
  ['a list', () => '[]', 'it has no section Server'],
  ['no policies', () => '{ "Server": {} }', 'Server:CanonicalAccess:IdentityPolicies is no list'],
  ['no application', (text) => text.replace('"start_run",', ''), 'grants start_run to an application'],
  [
    'an application without records',
    (text) =>
      text.replace(/"RecordAccess"[\s\S]*?"Principal": "app"/, (part) => part.replace(/app"$/, 'other"')),
    'Server:RecordAccess has 0 policies of app',
  ],
])('settings with %s are refused with the reason, and left as they are', async (_, change, reason) => {
  await written();
  writeFileSync(at('svcsettings.json'), change(textOf('svcsettings.json')));
  const before = textOf('svcsettings.json');
  await expect(add('reports')).rejects.toThrow(/is not of the form that svc init writes: .*by hand/);
  await expect(add('reports')).rejects.toThrow(reason);
  expect(textOf('svcsettings.json')).toBe(before);
});

test('a folder without settings names svc init', async () => {
  await expect(add('reports')).rejects.toThrow('svc init writes it');
});
