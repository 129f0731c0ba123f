import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkConfiguration } from '../../functions/config/check.ts';
import { type Ask, answersFrom } from './ask.ts';
import type { InitOptions } from './options.ts';
import { cloudVariablesOf, settingsOf } from './plan.ts';

const common = { out: '.', workerId: 'worker-1', proxies: 1 } as const;

function answer(options: Partial<InitOptions>, ask: Ask = null) {
  return answersFrom({ options: { ...common, ...options }, ask, readFile: () => 'postgresql://h/d\n' });
}

const emails = {
  issuer: 'google',
  audience: 'https://svc.example.com',
  principal: 'api@p.iam.gserviceaccount.com',
  workerPrincipal: 'worker@p.iam.gserviceaccount.com',
} as const;

describe('the answers', () => {
  test('every missing option is named at once', async () => {
    await expect(answer({})).rejects.toThrow('Missing: --tenant, --product');
    const issuer = 'https://issuer.example';
    await expect(answer({ issuer, tenant: ['t'], product: 'p' })).rejects.toThrow(
      'Missing: --key-set-url, --audience, --principal',
    );
    await expect(answer({ ...emails, cloud: true, tenant: ['t'], product: 'p', queue: 'q' })).rejects.toThrow(
      'Missing: --project, --location, --worker-url, --service-account',
    );
  });

  test('a person is asked for what the options leave open, with defaults', async () => {
    const asked: string[] = [];
    const said: Readonly<Record<string, string>> = {
      'Tenants, separated by spaces': 'acme, initech',
      'Product whose runs are started': 'shop',
    };
    const answers = await answer({ handler: ['h'] }, (question, fallback) => {
      asked.push(`${question} [${fallback}]`);
      return Promise.resolve(said[question] ?? '');
    });
    expect(asked).toEqual([
      'Database: sqlite, postgresql, mysql or firestore [sqlite]',
      'Tenants, separated by spaces []',
      'Product whose runs are started []',
      'Issuer of identity tokens: own (a key made here), google, or the address of another [own]',
      'Audience of tokens [svc]',
    ]);
    expect(answers).toMatchObject({
      database: 'sqlite',
      tenants: ['acme', 'initech'],
      product: 'shop',
      handlers: ['h'],
      identity: { kind: 'own' },
      audience: 'svc',
      principals: { app: 'app', worker: 'worker', operator: 'operator' },
    });
  });
});

/** The findings of the settings check; a warning counts too. */
async function findingsOf(options: Partial<InitOptions>) {
  const answers = await answer({ tenant: ['acme'], product: 'shop', handler: ['refund.pay'], ...options });
  const text = JSON.stringify(settingsOf(answers));
  const { cloud, connectionString } = answers;
  const env = {
    ...(connectionString === null ? {} : { CanonicalStore__ConnectionString: connectionString }),
    ...(cloud === null ? {} : cloudVariablesOf(cloud, answers.handlers)),
  };
  const readFile = (path: string) => (path === 'svcsettings.json' ? text : undefined);
  const host = answers.functions ? 'functions' : 'embedded';
  return checkConfiguration({ host, env, argv: [], readFile }).findings;
}

const cloud = {
  ...emails,
  cloud: true,
  project: 'my-project',
  location: 'europe-west1',
  queue: 'svc-runs',
  workerUrl: 'https://worker.example.com/tasks/execution',
  serviceAccount: 'queue@p.iam.gserviceaccount.com',
} as const;

describe('the settings have no finding', () => {
  test.each<[string, Partial<InitOptions>]>([
    ['own keys', {}],
    ['all tenants', { tenant: ['*'] }],
    ['an API key', { apiKey: true }],
    ['PostgreSQL', { database: 'postgresql', connectionStringFile: 'f' }],
    ['Google', emails],
    ['another issuer', { ...emails, issuer: 'https://i.example', keySetUrl: 'https://i.example/keys' }],
    ['the cloud, whose environment comes with it', cloud],
    ['the cloud, with a scheduler', { ...cloud, schedulerPrincipal: 'scheduler@p.iam.gserviceaccount.com' }],
    ['the cloud, whose environment Terraform sets', { ...emails, cloud: true }],
  ])('%s', async (_, options) => {
    expect(await findingsOf(options)).toEqual([]);
  });
});

test('the settings of the cloud leave to its environment what a deployment decides', async () => {
  const answers = await answer({ ...emails, cloud: true, tenant: ['acme'], product: 'shop', apiKey: true });
  const settings = settingsOf(answers);
  expect(Object.keys(settings)).toEqual(['Environment', 'Server', 'CanonicalStore', 'ExecutionRuntime']);
  expect(Object.keys(settings['Server'] as object)).toEqual([
    'Oidc',
    'CanonicalAccess',
    'ExecutionAccess',
    'RecordAccess',
    'ProviderAccess',
  ]);
  expect(JSON.stringify(settings)).not.toMatch(/Google|ApiKeyFile|TrustedProxyHops/);
});

test('the environment of the cloud is that of the Terraform functions', async () => {
  const { cloud: answers } = await answer({ ...cloud, tenant: ['t'], product: 'p', bucket: 'artifacts' });
  if (answers === null) throw new Error('the cloud has no answers');
  const text = readFileSync(join(import.meta.dirname, '../../infra/functions.tf'), 'utf8');
  const [, body = ''] = /\n {2}environment = \{\n(.*?)\n {2}\}/s.exec(text) ?? [];
  const given = [...body.matchAll(/^ +(\w+) += /gm)].map(([, name]) => name);
  // The rest is of the deployment: where it mounts files, its database, its load balancer.
  const others = ['SVC_SETTINGS', 'NODE_ENV', 'Firestore__DatabaseId', 'Server__TrustedProxyHops'];
  const written = [...Object.keys(cloudVariablesOf(answers, [])), ...others];
  expect(new Set(written)).toEqual(new Set(given));
});

test('the settings of the Terraform example have no finding', () => {
  const path = join(import.meta.dirname, '../../infra/environments/example/svcsettings.json');
  const readFile = (name: string) => (name === 'svcsettings.json' ? readFileSync(path, 'utf8') : undefined);
  expect(checkConfiguration({ host: 'functions', env: {}, argv: [], readFile }).findings).toEqual([]);
});
