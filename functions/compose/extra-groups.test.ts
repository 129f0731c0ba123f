import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { OperationEntry } from '../../contracts/operation.ts';
import { faultsText } from '../config/fault.ts';
import { loadConfiguration } from '../config/load.ts';
import { inject } from '../http/host-inject.ts';
import type { World } from '../kernel/world.ts';
import { catalogGroups } from './catalog-groups.ts';
import { compose } from './compose.ts';
import type { ComposedGroup, GroupParts } from './group.ts';
import { machine } from './machine.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-extra-groups-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const greet: OperationEntry = {
  id: 'greet',
  group: 'greetings',
  stability: 'preview',
  authorizationClass: 'anonymous',
  rateClass: null,
  accessOperation: null,
  mutation: 'read',
  completion: 'non-mutating',
  idempotency: { requirement: 'not-applicable', location: null },
  routes: [
    {
      operationId: 'greet',
      method: 'GET',
      segments: [{ literal: 'greetings' }],
      path: [],
      query: [],
      headers: [],
      bodyFromParameters: false,
      bodyMembers: [],
    },
  ],
  requestSchema: null,
  requestMediaType: null,
  bodyLimitBytes: null,
  responses: [{ status: 200, mediaType: 'application/json', schema: null, headers: [] }],
  problems: [],
};

const greetings: ComposedGroup = {
  name: 'greetings',
  operations: async () => ({ greet }),
  validators: async () => ({ requestValidators: {}, responseValidators: {} }),
  module: async () => ({
    bytesMax: 0,
    load: async () => ({
      handlers: { greet: async () => ({ status: 200, body: { greeting: 'hello' } }) },
      extra: [],
    }),
  }),
};

let timersSet = 0;
const world: World = {
  ...machine,
  timers: {
    after(delayMs, callback) {
      timersSet += 1;
      return machine.timers.after(delayMs, callback);
    },
  },
};

function service(extraGroups: readonly ComposedGroup[], more: readonly string[] = []) {
  const { settings, faults } = loadConfiguration({
    host: 'embedded',
    env: {},
    argv: [`--Server:DataDirectory=${folder}`, ...more],
    readFile: () => undefined,
  });
  if (settings === undefined) throw new Error(faultsText(faults));
  return compose(settings, { extraGroups, world, writeLog: () => {} });
}

test('a group that the catalog does not have is served beside those of the catalog', async () => {
  const composed = service([greetings]);
  expect(composed.groups).toEqual([...catalogGroups.map(({ name }) => name), 'greetings']);
  const chain = await composed.chain(['server', 'greetings']);
  expect((await inject(chain, { method: 'GET', path: '/greetings' })).json()).toEqual({ greeting: 'hello' });
  expect((await inject(chain, { method: 'GET', path: '/health' })).status).toBe(200);
  await composed.close();
});

test('a group that is not given is not composed', async () => {
  const composed = service([]);
  expect(composed.groups).not.toContain('greetings');
  await expect(async () => composed.chain(['greetings'])).rejects.toThrow('there is no group greetings');
  await composed.close();
});

describe('the jobs of a group', () => {
  const handler = { handlerId: 'svc.greetings.count', judge: () => {}, run: async () => undefined };
  const family = { family: 'greeting', statusPath: '/greetings/jobs' };
  const plugin = { pluginId: 'svc.greetings', name: 'Greetings', ...family, handlers: [handler] };
  const working: ComposedGroup = {
    ...greetings,
    module: async () => ({
      bytesMax: 0,
      jobs: async () => [plugin],
      load: async ({ execution }) => {
        await execution.get();
        return (await greetings.module()).load({} as GroupParts);
      },
    }),
  };

  test('are executed where callers have no access to the runtime itself', async () => {
    const composed = service(
      [working],
      [
        '--Environment=Production',
        '--CanonicalStore:Provider=sqlite',
        '--Server:CanonicalAccess:AllowedAudiences:0=https://svc.example.com',
        '--Server:CanonicalAccess:IdentityPolicies:0:Principal=a@example.com',
        '--Server:CanonicalAccess:IdentityPolicies:0:AllowedTenantIds:0=acme',
        '--Server:CanonicalAccess:IdentityPolicies:0:AllowedOperations:0=read',
      ],
    );
    expect(composed.groups).not.toContain('execution');
    await composed.chain(['greetings']);
    const before = timersSet;
    await composed.start();
    // The runtime sets a timer for the next look at due runs.
    expect(timersSet).toBeGreaterThan(before);
    await composed.close();
  });

  test('keep the service from starting without the runtime that executes them', async () => {
    const composed = service([working], ['--ExecutionRuntime:Enabled=false']);
    const reason =
      'ExecutionRuntime:Enabled is false, but the execution runtime executes the jobs of svc.greetings';
    await expect(async () => composed.chain(['greetings'])).rejects.toThrow(reason);
    await expect(composed.start()).rejects.toThrow(reason);
    await composed.close();
  });
});
