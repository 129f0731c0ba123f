import { describe, expect, test } from 'vitest';
import { groupClasses } from '../contracts/generated/groups.ts';
import {
  drainMsOf,
  emulatorVariables,
  functionsOf,
  jobsFor,
  queueOf,
  routesTo,
  settingsFor,
} from './local-functions.ts';
import { portOf } from './router.ts';

const parts = {
  routerUrl: 'http://127.0.0.1:1',
  issuer: { issuer: 'http://127.0.0.1:2', keySetUrl: 'http://127.0.0.1:2/keys' },
};
const localFunctions = functionsOf({});
const ports = new Map(localFunctions.map((name, at) => [name, 1000 + at]));
const settings = (given: Record<string, string> = {}, oidc = false) => settingsFor(parts, { oidc, given });

test('each path has the function that answers it', () => {
  const routes = routesTo(ports, {});
  const nameOf = (path: string) => localFunctions[portOf(routes, path) - 1000];
  expect(nameOf('/canonical/tenants/t/documents/query')).toBe('canonical');
  expect(nameOf('/execution/runs')).toBe('execution');
  expect(nameOf('/tasks/execution')).toBe('worker');
  expect([nameOf('/readiness'), nameOf('/'), nameOf('/reconcile'), nameOf('/prune')]).toEqual(
    Array.from({ length: 4 }, () => 'server'),
  );
});

test('collections and records share a first segment, and each path still has its function', () => {
  const routes = routesTo(ports, {});
  const nameOf = (path: string) => localFunctions[portOf(routes, path) - 1000];
  const collections = ['', '/papers', '/papers/export?a=b', '/papers/import/jobs', '/records'];
  expect(collections.map((path) => nameOf(`/collections${path}`))).toEqual(Array(5).fill('collections'));
  expect(nameOf('/record-import/jobs/1')).toBe('collections');
  const records = [
    '/papers/records',
    '/papers/records/p%2Fq/1',
    '/papers/query',
    '/papers/records/batch/jobs',
  ];
  expect(records.map((path) => nameOf(`/collections${path}`))).toEqual(Array(4).fill('records'));
  expect(nameOf('/collections/papers/nothing')).toBe('server');
});

test('the function of providers starts where the settings serve it', () => {
  const isNamed = (given: Record<string, string>, oidc = false) =>
    functionsOf(settings(given, oidc)).includes('providers');
  const policies = (section: string) => ({ [`Server__${section}__IdentityPolicies__0__Principal`]: 'a@b.c' });
  expect(isNamed({})).toBe(true);
  expect(isNamed({ Records__Enabled: 'false' })).toBe(true);
  expect(isNamed(policies('RecordAccess'))).toBe(false);
  expect(isNamed({ ...policies('RecordAccess'), ...policies('ProviderAccess') })).toBe(true);
  expect(isNamed(policies('CanonicalAccess'), true)).toBe(true);
  expect(isNamed({ executionruntime__enabled: 'false' })).toBe(false);
});

test('the functions of records start where the settings serve them', () => {
  const named = (given: Record<string, string>, oidc = false) =>
    functionsOf(settings(given, oidc)).filter((name) =>
      [
        'collections',
        'records',
        'objects',
        'artifacts',
        'embeddings',
        'retrieval',
        'graph',
        'rag',
        'traces',
      ].includes(name),
    );
  const canonical = { Server__CanonicalAccess__IdentityPolicies__0__Principal: 'a@b.c' };
  expect(named({})).toHaveLength(9);
  expect(named(canonical)).toEqual([]);
  expect(named(canonical, true)).toHaveLength(9);
  expect(named({ Records__Enabled: 'false' })).toEqual([]);
  expect(named({ executionruntime__enabled: 'false' })).toEqual([]);
});

test('the scheduler sends its jobs to the functions directly', () => {
  const oidc = { serviceAccountEmail: 'scheduler@local.example', audience: 'svc-local' };
  const targetOf = (name: string) => `http://127.0.0.1:${ports.get(name)}/`;
  expect(jobsFor(ports)).toEqual([
    { name: 'reconcile', schedule: '* * * * *', target: targetOf('reconcile'), oidc },
    { name: 'prune', schedule: '0 3 * * *', target: targetOf('prune'), oidc },
  ]);
});

test('the worker is there where the queue is not in the process, at the path that the settings say', () => {
  expect(localFunctions).toEqual([...Object.keys(groupClasses), 'worker', 'reconcile', 'prune']);
  expect(functionsOf(settings({ executionruntime__adapter: 'local' }))).not.toContain('worker');
  const mine = settings({ HostedWorker__CallbackPath: '/mine/at' });
  expect(mine['ExecutionRuntime__Google__WorkerUrl']).toBe('http://127.0.0.1:1/mine/at');
  expect(routesTo(ports, mine).bySegment.get('mine')).toBe(ports.get('worker'));
});

describe('the settings', () => {
  test('say where runs are queued, who may deliver them and whom to believe', () => {
    expect(settings()).toMatchObject({
      SVC_ENVIRONMENT: 'Development',
      ExecutionRuntime__Adapter: 'google',
      ExecutionRuntime__Google__WorkerUrl: 'http://127.0.0.1:1/tasks/execution',
      ExecutionRuntime__Google__OidcAudience: 'http://127.0.0.1:1/tasks/execution',
      ExecutionRuntime__Google__ServiceAccountEmail: 'tasks-invoker@local.example',
      HostedWorker__TaskAuthentication__AllowedAudiences__0: 'http://127.0.0.1:1/tasks/execution',
      HostedWorker__TaskAuthentication__AllowedPrincipals__0: 'tasks-invoker@local.example',
      Server__Oidc__Issuers__0: 'http://127.0.0.1:2',
      Server__Oidc__KeySetUrl: 'http://127.0.0.1:2/keys',
    });
    expect(Object.keys(settings()).join()).not.toContain('IdentityPolicies');
  });

  test('ask for tokens only on demand; the scheduler may then maintain', () => {
    const asked = settings({}, true);
    expect(asked['SVC_ENVIRONMENT']).toBe('LocalCloud');
    const [policy] = Object.entries(asked).find(([, value]) => value === 'scheduler@local.example') ?? [''];
    expect(asked[policy.replace('Principal', 'AllowedOperations__0')]).toBe('maintenance');
  });

  test('are those of the user where he gives any, however he writes them', () => {
    const mine = settings({
      svc_environment: 'Mine',
      ExecutionRuntime__Google__QueueId: 'mine',
      GOOGLE_CLOUD_PROJECT: 'demo-mine',
      SERVER__OIDC__ISSUERS__0: 'https://mine.example',
    });
    expect(mine).toMatchObject({ svc_environment: 'Mine', SERVER__OIDC__ISSUERS__0: 'https://mine.example' });
    expect(mine).not.toHaveProperty('SVC_ENVIRONMENT');
    expect(mine).not.toHaveProperty('Server__Oidc__KeySetUrl');
    expect(queueOf(mine).name).toBe('projects/demo-mine/locations/local/queues/mine');
  });

  test('do not lead the functions to other emulators', () => {
    const variables = emulatorVariables({ firestoreHost: 'f:1', tasksHost: 't:2' });
    expect(variables).toMatchObject({ FIRESTORE_EMULATOR_HOST: 'f:1', CLOUD_TASKS_EMULATOR_HOST: 't:2' });
  });
});

test('the queue repeats a delivery until it is taken', () => {
  expect(queueOf(settings())).toEqual({
    name: 'projects/demo-svc/locations/local/queues/svc-runs',
    retryConfig: { maxAttempts: -1, minBackoff: { seconds: 1 }, maxBackoff: { seconds: 60 } },
  });
});

test('the MCP endpoint is a function where the settings enable it', () => {
  expect(localFunctions).not.toContain('mcp');
  const names = functionsOf(settings({ mcp__enabled: 'True' }));
  expect(names).toContain('mcp');
  const all = new Map(names.map((name, at) => [name, 2000 + at]));
  const nameOf = (path: string) => names[portOf(routesTo(all, {}), path) - 2000];
  expect([nameOf('/mcp'), nameOf('/.well-known/oauth-protected-resource/mcp')]).toEqual(['mcp', 'mcp']);
  // Without the function its paths are those of no operation.
  expect(localFunctions[portOf(routesTo(ports, {}), '/mcp') - 1000]).toBe('server');
});

test('functions get the time of the settings to finish, and that of the platform without one', () => {
  expect([{}, { server__drainseconds: '600' }, { Server__DrainSeconds: 'long' }].map(drainMsOf)).toEqual([
    8_000, 600_000, 8_000,
  ]);
});
