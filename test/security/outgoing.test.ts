import { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Json } from '../../contracts/generate/schema.ts';
import { machine } from '../../functions/compose/machine.ts';
import { type RunningService, startService } from '../support/service.ts';
import { judge } from './oracle.ts';
import { requestOf } from './requests.ts';
import { furnishRuns } from './runs.ts';
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

  test.each(addresses)(
    'L02: the address %s of an artifact is kept unchanged, and the service never calls it',
    async (uri) => {
      const owner = { productId: 'p', tenantId: freshTenant(), workerId: freshTenant(), mark: 'm' };
      const { ids, proof } = await furnishRuns(service.call, owner);
      const put = await service.call({
        method: 'POST',
        path: '/execution/workers/leases/artifacts',
        body: { ...proof, artifact: { name: 'elsewhere', uri, metadata: { uri, offloaded: 'true' } } },
      });
      expect(put.status, put.body).toBe(200);
      const path = `/execution/runs/${ids.held}/artifacts`;
      for (const each of [`${path}/elsewhere`, `${path}/${put.json<{ id: string }>().id}`]) {
        const read = await service.call({ method: 'GET', path: each });
        expect(read.json()).toMatchObject({ uri, text: null, content: null });
      }
      expect((await service.call({ method: 'GET', path })).body).toContain(JSON.stringify(uri));
      expect(asked).toEqual([]);
      expect(connect).not.toHaveBeenCalled();
    },
  );

  test('L02: an artifact that names where the service keeps those of another run gets none of them', async () => {
    const [one, two] = [freshTenant(), freshTenant()].map((tenantId) => ({
      productId: 'p',
      tenantId,
      workerId: tenantId,
      mark: tenantId,
    }));
    if (one === undefined || two === undefined) throw new Error('there are two');
    const [victim, attacker] = [await furnishRuns(service.call, one), await furnishRuns(service.call, two)];
    const put = async (proof: object, artifact: object) => {
      const path = '/execution/workers/leases/artifacts';
      const answer = await service.call({ method: 'POST', path, body: { ...proof, artifact } });
      expect(answer.status, answer.body).toBe(200);
      return answer.json<{ id: string; uri: string; text: string | null }>();
    };
    // Too large to be kept inline, so it is kept apart under an address of the service.
    const secret = `${one.mark} `.repeat(10_000);
    const large = await put(victim.proof, { name: 'large', text: secret });
    expect(large).toMatchObject({ text: null });
    expect(large.uri).not.toBeNull();
    const own = await service.call({
      method: 'GET',
      path: `/execution/runs/${victim.ids.held}/artifacts/${large.id}`,
    });
    expect(own.json()).toMatchObject({ text: secret });
    const metadata = { offloaded: 'true', inline: 'false', storage: 'files' };
    const forged = await put(attacker.proof, { name: 'forged', uri: large.uri, metadata });
    const path = `/execution/runs/${attacker.ids.held}/artifacts/${forged.id}`;
    const read = await service.call({ method: 'GET', path });
    expect(read.status).toBe(200);
    expect(read.body).not.toContain(`${one.mark} ${one.mark}`);
    expect(read.json()).toMatchObject({ text: null, content: null, uri: large.uri });
  });

  test('a call would have been seen', async () => {
    // No server listens there.
    await fetch('http://127.0.0.1:65009/').catch(() => undefined);
    expect(connect).toHaveBeenCalled();
  });
});
