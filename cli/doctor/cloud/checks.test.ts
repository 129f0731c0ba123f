import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { serviceCollections } from '../../../functions/compose/collections.ts';
import { firestoreIndexes } from '../../../functions/store/firestore/indexes.ts';
import type { CloudProject } from '../../../test/support/google-cloud/project.ts';
import { cloudChecks } from './checks.ts';
import type { WantedIndexes } from './firestore.ts';
import { functionFaults } from './function-faults.fixture.ts';
import { deployerPermissions, preflightPermissions, services } from './permissions.ts';
import { type Asking, apisAt, deployment, found, projectId, whole } from './stage.fixture.ts';
import { storeFaults } from './store-faults.fixture.ts';

test('a whole deployment has no fault, and each area says so', async () => {
  const { checks, faults } = await found(whole);
  expect(faults).toEqual([]);
  expect(checks.map(({ id }) => id).sort()).toEqual([
    'cloud-accounts',
    'cloud-apis',
    'cloud-billing',
    'cloud-buckets',
    'cloud-credentials',
    'cloud-database',
    'cloud-deployer',
    'cloud-functions',
    'cloud-indexes',
    'cloud-invokers',
    'cloud-jobs',
    'cloud-permissions',
    'cloud-project',
    'cloud-queues',
    'cloud-secrets',
  ]);
});

test('the indexes of this release are those that infra/firestore.indexes.json has', async () => {
  const indexes: WantedIndexes = firestoreIndexes(serviceCollections);
  expect(indexes.fieldOverrides.length).toBeGreaterThan(10);
  expect((await found(whole, { indexes })).faults).toEqual([]);
});

test('lists with pages are read to their end', async () => {
  const { faults, calls } = await found(whole, { pageSizeMax: 2 });
  expect(faults).toEqual([]);
  expect(calls.filter((call) => call.includes('pageToken')).length).toBeGreaterThan(5);
});

describe('a fault is found, alone and with its remedy', () => {
  test.each([...storeFaults, ...functionFaults])('%s', async (_, change, check) => {
    const { faults } = await found(change);
    expect(faults).toEqual([expect.objectContaining(check)]);
    expect(faults[0]?.remedy).not.toBe('');
  });
});

describe('resources that the operator may not read', () => {
  test('without any right: the gaps of one kind are one line, and commands give the rights', async () => {
    const { faults: checks } = await found(({ permissions }) => permissions.clear());
    expect(checks.map(({ id, status }) => `${id} ${status}`)).toEqual([
      'cloud-permissions failed',
      'cloud-deployer warning',
      'cloud-billing warning',
      'cloud-unseen failed',
    ]);
    const lines = checks[3]?.message.split('\n') ?? [];
    expect(lines).toContain('queue svc-runs: you lack the right cloudtasks.queues.get');
    expect(lines).toContain('job svc-prune, job svc-reconcile: you lack the right cloudscheduler.jobs.get');
    expect(lines).toHaveLength(13);
  });

  test('with the right to see the project alone', async () => {
    const { faults: checks } = await found(({ permissions }) => {
      permissions.clear();
      permissions.add('resourcemanager.projects.get');
    });
    expect(checks.map(({ id, status }) => `${id} ${status}`)).toEqual([
      'cloud-permissions failed',
      'cloud-deployer warning',
      'cloud-unseen failed',
    ]);
    const [own, deployer, unseen] = checks;
    for (const permission of preflightPermissions.filter((each) => each !== 'resourcemanager.projects.get'))
      expect(own?.message).toContain(permission);
    expect(own?.remedy).toContain(
      `gcloud iam roles create svcPreflight --project=my-project --permissions=${preflightPermissions.join()}`,
    );
    for (const permission of deployerPermissions) expect(deployer?.message).toContain(permission);
    for (const what of [
      'database (default)',
      'queue svc-runs',
      'job svc-prune',
      'secret svc-api-keys',
      'function svc-worker',
    ])
      expect(unseen?.message).toContain(what);
  });

  test('each right of the preflight is needed, and none beside them', async () => {
    const used = new Set<string>();
    for (const permission of preflightPermissions) {
      const { faults: checks } = await found(({ permissions }) => permissions.delete(permission));
      if (checks.some(({ id }) => id === 'cloud-unseen')) used.add(permission);
    }
    expect([...used].sort()).toEqual([...preflightPermissions].sort());
    const least = (project: CloudProject) => {
      project.permissions.clear();
      for (const permission of preflightPermissions) project.permissions.add(permission);
    };
    expect((await found(least)).faults.map(({ id, status }) => `${id} ${status}`)).toEqual([
      'cloud-deployer warning',
    ]);
  });

  test('an API that is off hides its resources, and they are not called missing', async () => {
    const { faults: checks } = await found(({ enabled }) => enabled.delete('cloudtasks.googleapis.com'));
    expect(checks.map(({ id }) => id)).toEqual(['cloud-apis', 'cloud-unseen']);
    expect(checks[1]?.message).toContain('queue svc-runs: the API cloudtasks.googleapis.com is off');
  });
});

test('an API that does not answer hides its resources alone', async () => {
  const { faults, checks } = await found(whole, { failing: ['cloudtasks.googleapis.com'] });
  expect(faults).toEqual([expect.objectContaining({ id: 'cloud-unseen', status: 'failed' })]);
  expect(faults[0]?.message).toContain(
    'queue svc-runs: cloudtasks.googleapis.com answers 503: The service is currently unavailable.',
  );
  expect(checks.map(({ id }) => id)).toContain('cloud-functions');
  const none = await found(whole, { failing: ['cloudresourcemanager.googleapis.com'] });
  expect(none.checks.map(({ id }) => id)).toEqual(['cloud-network']);
});

describe('before the first deployment', () => {
  const asking: Asking = { deployment: null };

  test('project, rights, APIs and billing are looked at, and nothing else', async () => {
    const { checks } = await found(whole, asking);
    expect(checks.map(({ id, status }) => `${id} ${status}`)).toEqual([
      'cloud-credentials ok',
      'cloud-project ok',
      'cloud-permissions ok',
      'cloud-deployer ok',
      'cloud-apis ok',
      'cloud-billing ok',
    ]);
  });

  test('a right of the deployment that is missing is a failure, with the roles that bring it', async () => {
    const { faults: checks } = await found(
      ({ permissions }) => permissions.delete('cloudtasks.queues.create'),
      asking,
    );
    expect(checks).toEqual([
      {
        id: 'cloud-deployer',
        status: 'failed',
        message: 'You lack 1 right of a deployment: cloudtasks.queues.create.',
        remedy:
          'gcloud projects add-iam-policy-binding my-project --member=user:YOU --role=roles/cloudtasks.admin --condition=None',
      },
    ]);
  });

  test('APIs that Terraform enables are a warning', async () => {
    const { faults: checks } = await found(({ enabled }) => {
      for (const name of services) if (!/resourcemanager|serviceusage/.test(name)) enabled.delete(name);
    }, asking);
    expect(checks.map(({ id, status }) => `${id} ${status}`)).toEqual(['cloud-apis warning']);
  });
});

describe('where no check can be made, one line says why', () => {
  test('a token that has expired', async () => {
    const { checks } = await found(whole, { token: 'ya29.expired' });
    expect(checks).toEqual([
      {
        id: 'cloud-credentials',
        status: 'failed',
        message: 'Google does not accept the credentials: Request had invalid authentication credentials.',
        remedy: 'gcloud auth application-default login',
      },
    ]);
  });

  test('a network without Google', async () => {
    // A port of the system that no service uses.
    const checks = await cloudChecks(apisAt('http://127.0.0.1:2', 'x'), { projectId, deployment });
    expect(checks).toEqual([
      expect.objectContaining({
        id: 'cloud-network',
        status: 'failed',
        message: '127.0.0.1:2 does not answer (ECONNREFUSED).',
      }),
    ]);
  });

  test('a project that the operator may not read', async () => {
    const { faults: checks } = await found(whole, { projectId: 'another-project' });
    expect(checks.map(({ id }) => id)).toContain('cloud-unseen');
  });
});

test('the page of the tool names the rights that the preflight needs, and every check', async () => {
  const page = await readFile(join(import.meta.dirname, '../../../docs/tool-api.md'), 'utf8');
  const named = [...page.matchAll(/\b[a-z]+\.[a-zA-Z]+\.(?:get\w*|list)\b/g)].map(([right]) => right);
  expect(named.sort()).toEqual([...preflightPermissions].sort());
  const { checks } = await found(({ permissions }) => permissions.delete('cloudtasks.queues.get'));
  for (const { id } of checks) expect(page).toContain(`\`${id}\``);
});
