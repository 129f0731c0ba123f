import { describe, expect, test } from 'vitest';
import { acceptsHandlersOfWorkers } from './execution-rules.ts';
import { faultsText } from './fault.ts';
import { loadConfiguration } from './load.ts';
import type { Host } from './setting.ts';

function load(runtime: object) {
  const file = JSON.stringify({ ExecutionRuntime: runtime });
  const readFile = (path: string) => (path === 'svcsettings.json' ? file : undefined);
  return loadConfiguration({ host: 'embedded', env: {}, argv: [], readFile });
}

function faultsOf(runtime: object): string {
  const { faults } = load(runtime);
  return faults.length === 0 ? '' : faultsText(faults);
}

const cloud = {
  Adapter: 'google-firestore-cloud-tasks',
  Google: { ProjectId: 'demo', LocationId: 'here', QueueId: 'q', WorkerUrl: 'https://worker.example/tasks' },
};

describe('the execution runtime starts', () => {
  test.each<[string, object]>([
    ['with no settings', {}],
    ['with limits that are equal', { DefaultListLimit: 20, MaxListLimit: 20 }],
    ['with a limit below the implicit default', { MaxListLimit: 1, MaxHistoryLimit: 1 }],
    ['with handlers of several names', { ExternalHandlers: [{ HandlerId: 'a' }, { HandlerId: 'A' }] }],
    ['with the adapter by its name', { Adapter: 'local' }],
    ['with the adapter by its other name', { Adapter: 'local-sqlite' }],
    ['with the queue in the cloud', cloud],
    ['with no worker yet', { ...cloud, Google: { ...cloud.Google, WorkerUrl: undefined } }],
    [
      'with a route for each handler of others',
      {
        ...cloud,
        ExternalHandlers: [{ HandlerId: 'a' }],
        Google: { ...cloud.Google, WorkerRoutes: [{ HandlerId: 'a', WorkerUrl: 'https://theirs.example' }] },
      },
    ],
    [
      'with handlers of others that go where all go',
      {
        ...cloud,
        ExternalHandlers: [{ HandlerId: 'a' }],
        Google: { ...cloud.Google, RequireExplicitWorkerRoutes: false },
      },
    ],
    ['with the largest ceilings', { MaxActiveRuns: 1_000_000, MaxPayloadBytes: 1_048_576 }],
  ])('%s', (_, runtime) => {
    expect(faultsOf(runtime)).toBe('');
  });
});

describe('the execution runtime does not start', () => {
  test.each<[string, object, RegExp]>([
    [
      'with a queue in the cloud that is nowhere',
      { Adapter: 'google' },
      /LocationId .*is missing[^]*QueueId .*is missing[^]*ProjectId .*is missing/,
    ],
    [
      'with a handler of others that no message could reach',
      { ...cloud, ExternalHandlers: [{ HandlerId: 'a' }] },
      /WorkerRoutes .*has no route for the handler a/,
    ],
    [
      'with a route that leads nowhere',
      {
        Adapter: 'google',
        Google: { ...cloud.Google, WorkerUrl: undefined, WorkerRoutes: [{ HandlerId: 'a' }] },
      },
      /WorkerRoutes:0 .*has no WorkerUrl, and there is no/,
    ],
    [
      'with a route without a handler',
      { ...cloud, Google: { ...cloud.Google, WorkerRoutes: [{ QueueId: 'q' }] } },
      /WorkerRoutes:0 .*has no HandlerId/,
    ],
    [
      'with two routes of one handler',
      { ...cloud, Google: { ...cloud.Google, WorkerRoutes: [{ HandlerId: 'a' }, { HandlerId: 'a' }] } },
      /WorkerRoutes:1 .*names a handler that is named already/,
    ],
    ['with a rule for no handler', { Handlers: [{ ConcurrencyLimit: 2 }] }, /Handlers:0 .*has no HandlerId/],
    [
      'with two rules for one handler',
      { Handlers: [{ HandlerId: 'a', ConcurrencyLimit: 2 }, { HandlerId: 'a' }] },
      /Handlers:1 .*names a handler that is named already/,
    ],
    [
      'with a key that has more places than any may have',
      { Handlers: [{ HandlerId: 'a', ConcurrencyLimit: 101 }] },
      /ConcurrencyLimit/,
    ],
    [
      'with a list longer than the longest',
      { DefaultListLimit: 21, MaxListLimit: 20 },
      /DefaultListLimit .*is more than ExecutionRuntime:MaxListLimit allows, which is 20/,
    ],
    [
      'with a list longer than the default of the longest',
      { DefaultListLimit: 201 },
      /DefaultListLimit .*is more than/,
    ],
    [
      'with a history longer than the longest',
      { DefaultHistoryLimit: 11, MaxHistoryLimit: 10 },
      /DefaultHistoryLimit .*is more than ExecutionRuntime:MaxHistoryLimit allows, which is 10/,
    ],
    [
      'with a handler without an id',
      { ExternalHandlers: [{ HandlerId: 'a' }, { DisplayName: 'A' }] },
      /ExternalHandlers:1 .*has no HandlerId/,
    ],
    [
      'with a handler that is named twice',
      { ExternalHandlers: [{ HandlerId: 'a' }, { HandlerId: 'b' }, { HandlerId: ' a ' }] },
      /ExternalHandlers:2 .*named already/,
    ],
    ['with another adapter', { Adapter: 'cloud-tasks' }, /Adapter .*must be/],
    ['with an adapter of no name', { Adapter: 'nothing' }, /Adapter .*must be/],
    ['with no room for a run', { MaxActiveRuns: 0 }, /MaxActiveRuns .*must be/],
    ['with payloads above the contract', { MaxPayloadBytes: 1_048_577 }, /MaxPayloadBytes .*must be/],
    ['with results above the contract', { MaxResultBytes: 1_048_577 }, /MaxResultBytes .*must be/],
    [
      'with more attempts than there may be',
      { ExternalHandlers: [{ HandlerId: 'a', MaxAttempts: 26 }] },
      /MaxAttempts .*must be/,
    ],
    ['with a lease of no time', { LeaseSeconds: 0 }, /LeaseSeconds .*must be/],
    [
      'with two policies of one product',
      { ProductPolicies: [{ ProductId: 'p' }, { ProductId: 'p' }] },
      /policy already/,
    ],
    ['with a setting that there is not', { MaxActiveRun: 5 }, /MaxActiveRun/],
  ])('%s', (_, runtime, expected) => {
    expect(faultsOf(runtime)).toMatch(expected);
  });
});

describe('handlers of workers', () => {
  const local = { Environment: 'Development' };
  const settingsOf = (own: Record<string, string>, host: Host = 'embedded') =>
    loadConfiguration({
      host,
      env: {},
      argv: Object.entries(own).map(([key, value]) => `--${key}=${value}`),
      readFile: () => undefined,
    });
  const key = 'ExecutionRuntime:AcceptHandlersOfWorkers';
  const production = { Environment: 'Production', 'CanonicalStore:Enabled': 'false' };
  const remote = { ...local, 'Server:Host': '0.0.0.0', 'Server:AllowRemoteDevelopment': 'true' };

  test.each<[string, Record<string, string>, boolean]>([
    ['on loopback in Development', local, true],
    ['where the setting is false', { ...local, [key]: 'false' }, false],
    ['on other hosts', remote, false],
    ['where other host names are answered', { ...local, 'Server:AllowRemoteDevelopment': 'true' }, false],
    ['behind a proxy', { ...local, 'Server:TrustedProxyHops': '1' }, false],
    [
      'in the cloud',
      { ...local, 'Server:CloudService': 'svc', 'Server:AllowRemoteDevelopment': 'true' },
      false,
    ],
    ['in Production', production, false],
  ])('%s', (_, own, accepted) => {
    const { settings, faults } = settingsOf(own);
    expect(faults).toEqual([]);
    expect(settings !== undefined && acceptsHandlersOfWorkers(settings)).toBe(accepted);
  });

  test.each<[string, Record<string, string>, RegExp]>([
    [
      'in Production',
      production,
      /AcceptHandlersOfWorkers .*the environment is Production; name the handlers in/,
    ],
    ['on other hosts', remote, /AcceptHandlersOfWorkers .*the host 0\.0\.0\.0 is reachable/],
    [
      'behind a proxy',
      { ...local, 'Server:TrustedProxyHops': '1' },
      /AcceptHandlersOfWorkers .*other machines/,
    ],
  ])('are refused %s', (_, own, message) => {
    expect(faultsText(settingsOf({ ...own, [key]: 'true' }).faults)).toMatch(message);
  });

  test('are refused in functions, where the default is false', () => {
    const emulated = { ...local, 'CanonicalStore:Enabled': 'false' };
    const { settings } = settingsOf(emulated, 'functions');
    expect(settings !== undefined && acceptsHandlersOfWorkers(settings)).toBe(false);
    const { faults } = settingsOf({ ...emulated, [key]: 'true' }, 'functions');
    expect(faultsText(faults)).toMatch(/AcceptHandlersOfWorkers .*several functions/);
  });

  test('are refused with the queue of the cloud', () => {
    const fault = /AcceptHandlersOfWorkers .*ExecutionRuntime:Adapter is google/;
    expect(faultsOf({ ...cloud, AcceptHandlersOfWorkers: true })).toMatch(fault);
  });
});
