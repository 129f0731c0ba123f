import { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Json } from '../../contracts/generate/schema.ts';
import { machine } from '../../functions/compose.ts';
import { type RunningService, startService } from '../support/service.ts';
import { judge } from './oracle.ts';
import { requestOf } from './requests.ts';
import { salted } from './salt.ts';
import { contractModels } from './schema-set.ts';
import { allEntries, freshTenant, routesOf } from './target.ts';

const addresses = [
  'http://169.254.169.254/computeMetadata/v1/instance/service-accounts/default/token',
  'http://metadata.google.internal/',
  'https://127.0.0.1:1/',
  'http://[::1]:1/',
  'http://0x7f000001/',
  'file:///etc/passwd',
  'gs://bucket/object',
  '//evil.example/a',
  'ldap://evil.example/a',
];
const set = contractModels();

describe('L01: no request makes the service call an address', () => {
  const asked: string[] = [];
  const connect = vi.spyOn(Socket.prototype, 'connect');
  let service: RunningService;
  beforeAll(async () => {
    const http = (input: string | URL) => {
      asked.push(String(input));
      return Promise.reject(new Error('there is no network'));
    };
    service = await startService({ world: { ...machine, http } });
  });
  afterAll(async () => {
    connect.mockRestore();
    await service.close();
  });

  test.each(routesOf(allEntries))('$name', async ({ entry, route }) => {
    for (const address of addresses) {
      const tenantId = freshTenant();
      const params = Object.fromEntries(
        route.path.map(({ name }) => [name, name === 'tenantId' ? tenantId : 'x']),
      );
      const schema = entry.requestSchema === null ? undefined : set.model(entry.requestSchema);
      const salt = { free: address, text: address, fixed: params };
      const example = schema?.examples?.[0] ?? {};
      const body: Json | undefined =
        schema === undefined || route.bodyFromParameters ? undefined : salted(set, schema, example, salt);
      const names = ['Referer', 'X-Forwarded-Host', 'X-Original-URL', 'Link', 'Callback-URL'];
      const headers = names.map((name) => [name, address] as const);
      judge(
        set,
        entry,
        await service.call(requestOf({ entry, route }, { params, query: [], headers, body })),
      );
    }
    expect(asked).toEqual([]);
    expect(connect).not.toHaveBeenCalled();
  });

  test('a call would have been seen', async () => {
    // Nobody listens there.
    await fetch('http://127.0.0.1:65009/').catch(() => undefined);
    expect(connect).toHaveBeenCalled();
  });
});
