import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { operations } from '../../contracts/generated/operations.ts';
import { faultsText } from '../config/fault.ts';
import { loadConfiguration } from '../config/load.ts';
import { inject } from '../http/host-inject.ts';
import { compose, type Service } from './compose.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-compose-'));
const services: Service[] = [];
afterAll(async () => {
  await Promise.all(services.map((each) => each.close()));
  rmSync(folder, { recursive: true, force: true });
});

function service(env: Record<string, string> = {}, writeLog: (line: string) => void = () => {}): Service {
  const given = { SVC_DATA_DIR: join(folder, randomUUID()), ...env };
  const { settings, faults } = loadConfiguration({
    host: 'embedded',
    env: given,
    argv: [],
    readFile: () => undefined,
  });
  if (settings === undefined) throw new Error(faultsText(faults));
  const composed = compose(settings, { writeLog });
  services.push(composed);
  return composed;
}

const chainOf = (composed: Service) => composed.chain(composed.groups);
const commit = {
  method: 'POST',
  path: '/canonical/tenants/t/transactions',
  body: { tenantId: 't', idempotencyKey: 'k', outbox: [{ topic: 'a', key: 'k', payload: {} }] },
};

describe('the composed service', () => {
  test('commits, and answers the same commit again from its receipt', async () => {
    const chain = await chainOf(service());
    const [first, second] = [await inject(chain, commit), await inject(chain, commit)];
    expect(first.status, first.body).toBe(200);
    expect(second.json<{ replayed: boolean }>().replayed).toBe(true);
  });

  test.each([
    [{}, 'trace_id'],
    [{ K_SERVICE: 'svc' }, 'logging.googleapis.com/trace'],
    [{ K_SERVICE: 'svc', Server__LogFormat: 'otel' }, 'trace_id'],
    [{ Server__LogFormat: 'google' }, 'logging.googleapis.com/trace'],
  ])('with %j names the trace of a request in the member %s of its line', async (env, member) => {
    const lines: string[] = [];
    const chain = await service({ Server__LogLevel: 'info', ...env }, (line) => lines.push(line)).chain([
      'server',
    ]);
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };
    expect((await inject(chain, { method: 'GET', path: '/health', headers })).status).toBe(200);
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
      message: 'a request was answered',
      [member]: traceId,
    });
  });

  test('two instances over one store answer interchangeably', async () => {
    const env = { SVC_DATA_DIR: join(folder, 'shared') };
    const [one, two] = [await chainOf(service(env)), await chainOf(service(env))];
    const query = {
      method: 'POST',
      path: '/canonical/tenants/t/outbox/query',
      body: { tenantId: 't', limit: 1 },
    };
    const twice = { ...commit.body, outbox: [...commit.body.outbox, ...commit.body.outbox] };
    expect((await inject(one, { ...commit, body: twice })).status).toBe(200);
    const page = (await inject(two, query)).json<{ continuationToken: string | null }>();
    expect(page.continuationToken).toBeTypeOf('string');
    const body = { ...query.body, continuationToken: page.continuationToken };
    expect((await inject(one, { ...query, body })).status).toBe(200);
  });

  test('opens nothing before the first call that needs the store', async () => {
    const composed = service({ SVC_CANONICAL_DATABASE_PATH: '/dev/null/not-a-folder/x.sqlite' });
    const chain = await chainOf(composed);
    expect((await inject(chain, { method: 'GET', path: '/health' })).status).toBe(200);
    const report = (await inject(chain, { method: 'GET', path: '/readiness' })).json();
    expect(report).toMatchObject({ ready: false, status: 'failed' });
    expect((await inject(chain, commit)).status).toBe(503);
  });

  test('without a canonical store its routes do not exist', async () => {
    const chain = await chainOf(service({ SVC_CANONICAL_STORE_ENABLED: 'false' }));
    expect((await inject(chain, commit)).status).toBe(404);
    const { paths } = (await inject(chain, { method: 'GET', path: '/openapi/svc.json' })).json<{
      paths: object;
    }>();
    expect(Object.keys(paths).some((path) => path.startsWith('/canonical'))).toBe(false);
  });

  test('every group of the contract is served', () => {
    const groups = new Set(Object.values(operations).map(({ group }) => group));
    expect(new Set(service().groups)).toEqual(groups);
    expect(service({ SVC_CANONICAL_STORE_ENABLED: 'false' }).groups).not.toContain('canonical');
  });

  test('white space around an identifier is not part of its length', async () => {
    const chain = await chainOf(service());
    const keyed = (idempotencyKey: string) =>
      inject(chain, { ...commit, body: { ...commit.body, idempotencyKey } });
    const padded = await keyed(` ${'k'.repeat(160)} `);
    expect(padded.status, padded.body).toBe(200);
    expect(padded.json()).toMatchObject({ idempotencyKey: 'k'.repeat(160) });
    expect((await keyed('k'.repeat(161))).json()).toMatchObject({ status: 400, code: 'limit_exceeded' });
    expect((await keyed('   ')).json()).toMatchObject({ status: 400, code: 'validation_failed' });
  });

  test('one group alone has its own routes only', async () => {
    const composed = service();
    const [server, canonical] = [await composed.chain(['server']), await composed.chain(['canonical'])];
    expect((await inject(server, commit)).status).toBe(404);
    expect((await inject(canonical, { method: 'GET', path: '/health' })).status).toBe(404);
    expect((await inject(canonical, commit)).status).toBe(200);
  });

  test('greets people at the root', async () => {
    const answer = await inject(await chainOf(service()), { method: 'GET', path: '/' });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(answer.headers['x-correlation-id']).toMatch(/^[0-9a-f]{32}$/);
  });

  test('an API key in Development lets in the callers that know it, and no others', async () => {
    const chain = await chainOf(service({ SVC_API_KEY: 'one', Server__ApiKeys__0: 'two' }));
    expect((await inject(chain, commit)).status).toBe(401);
    expect((await inject(chain, { ...commit, headers: { 'X-Svc-Api-Key': 'three' } })).status).toBe(401);
    for (const key of ['one', 'two']) {
      expect((await inject(chain, { ...commit, headers: { 'X-Svc-Api-Key': key } })).status).toBe(200);
    }
    expect((await inject(chain, { method: 'GET', path: '/health' })).status).toBe(200);
  });

  test('counts canonical requests as configured', async () => {
    const chain = await chainOf(service({ Server__CanonicalRateLimit__PermitLimit: '1' }));
    expect((await inject(chain, commit)).status).toBe(200);
    expect((await inject(chain, commit)).status).toBe(429);
    expect((await inject(chain, { method: 'GET', path: '/health' })).status).toBe(200);
  });

  test('logs from the configured severity on', async () => {
    const quiet: string[] = [];
    const loud: string[] = [];
    const health = { method: 'GET', path: '/health' };
    await inject(await chainOf(service({}, (line) => quiet.push(line))), health);
    await inject(await chainOf(service({ Server__LogLevel: 'info' }, (line) => loud.push(line))), health);
    expect([quiet.length, loud.length]).toEqual([0, 1]);
  });

  test('a closed service opens nothing', async () => {
    const composed = service();
    await composed.close();
    await expect(composed.store()).rejects.toThrow('the service is stopping');
  });
});
