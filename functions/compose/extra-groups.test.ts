import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { OperationEntry } from '../../contracts/operation.ts';
import { faultsText } from '../config/fault.ts';
import { loadConfiguration } from '../config/load.ts';
import { inject } from '../http/host-inject.ts';
import { compose } from './compose.ts';
import type { ComposedGroup } from './group.ts';

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

function service(extraGroups: readonly ComposedGroup[]) {
  const { settings, faults } = loadConfiguration({
    host: 'embedded',
    env: {},
    argv: [`--Server:DataDirectory=${folder}`],
    readFile: () => undefined,
  });
  if (settings === undefined) throw new Error(faultsText(faults));
  return compose(settings, { extraGroups, writeLog: () => {} });
}

test('a group that the catalog does not have is served beside those of the catalog', async () => {
  const composed = service([greetings]);
  expect(composed.groups).toEqual(['server', 'canonical', 'execution', 'greetings']);
  const chain = await composed.chain(['server', 'greetings']);
  expect((await inject(chain, { method: 'GET', path: '/greetings' })).json()).toEqual({ greeting: 'hello' });
  expect((await inject(chain, { method: 'GET', path: '/health' })).status).toBe(200);
  await composed.close();
});

test('a group that nobody gave is not composed', async () => {
  const composed = service([]);
  expect(composed.groups).not.toContain('greetings');
  await expect(async () => composed.chain(['greetings'])).rejects.toThrow('there is no group greetings');
  await composed.close();
});
