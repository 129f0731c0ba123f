import { describe, expect, test } from 'vitest';
import openApi from '../../../contracts/generated/openapi/svc.json' with { type: 'json' };
import schemas from '../../../contracts/generated/schemas/svc-public.schema.json' with { type: 'json' };
import { responseValidators } from '../../../contracts/generated/validators/server.js';
import catalog from '../../../contracts/public-sdk-surface.json' with { type: 'json' };
import { builtInProviders } from '../../embeddings/rules/built-in-providers.ts';
import type { CallContext } from '../../http/handler.ts';
import { RawBody } from '../../http/message.ts';
import type { Timers } from '../../kernel/world.ts';
import { type RecordStore, StoreError } from '../../store/port.ts';
import type { CanonicalReadiness, ServerDependencies } from './dependencies.ts';
import { serverHandlers } from './handlers.ts';
import { getServerInfo, serverInfoOperation } from './server-info.ts';

const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const context: CallContext = {
  caller: { kind: 'anonymous', principal: null },
  correlationId: 'c',
  now,
  signal: new AbortController().signal,
};
const nothing = { params: {}, query: {}, body: null };
const never: Timers = { after: () => () => {} };

function canonical(ping: () => Promise<void>, change: Partial<CanonicalReadiness> = {}): CanonicalReadiness {
  const store = async () => ({ ping }) as unknown as RecordStore;
  const rateLimit = { permitLimit: 120, windowSeconds: 60, queueLimit: 0 };
  return { provider: 'sqlite', store, open: false, rateLimit, ...change };
}

function handlers(change: Partial<ServerDependencies>) {
  return serverHandlers({
    world: { timers: never },
    damage: { met: null },
    release: { service: 'svc', version: '0.1.0' },
    development: true,
    canonical: canonical(async () => {}),
    apiKey: { required: true, header: 'X-Svc-Api-Key' },
    documents: { openApi: async () => openApi, schemas: async () => schemas },
    ...change,
  });
}

const readiness = async (change: Partial<ServerDependencies>) =>
  (await handlers(change).getReadiness(nothing, context)).body;

describe('health', () => {
  test('tells the configuration and opens no store', async () => {
    const store = () => Promise.reject(new Error('health must not open the store'));
    const { getHealth } = handlers({ canonical: canonical(async () => {}, { store }) });
    expect(await getHealth(nothing, context)).toEqual({
      status: 200,
      body: {
        status: 'ok',
        service: 'svc',
        version: '0.1.0',
        contractPath: '/openapi/svc.json',
        schemaContractPath: '/contracts/schemas/svc-public.schema.json',
        storage: {
          recordStore: 'disabled',
          objectStore: 'disabled',
          traceStore: 'disabled',
          canonicalStore: 'sqlite',
        },
        embedding: null,
        security: { apiKeyRequired: true, apiKeyHeader: 'X-Svc-Api-Key', providerRunLimits: {} },
        checkedAt: '2026-01-02T03:04:05.678Z',
      },
    });
  });
});

test('health names the database of records for objects and traces too', async () => {
  const store = () => Promise.reject(new Error('health must not open the store'));
  const { getHealth } = handlers({ records: { off: null, provider: 'sqlite', store } });
  const { body } = await getHealth(nothing, context);
  expect(body.storage).toMatchObject({ recordStore: 'sqlite', objectStore: 'sqlite', traceStore: 'sqlite' });
});

test('health and readiness tell the provider of embeddings', async () => {
  const [embedding] = builtInProviders;
  if (embedding === undefined) throw new Error('the service has models of its own');
  const { body } = await handlers({ embedding }).getHealth(nothing, context);
  expect(body.embedding).toEqual({
    provider: 'deterministic-hash',
    modelId: 'deterministic-hash-embedding-v1',
    dimensions: 64,
    runtime: { local: true, semanticQuality: 'mechanical' },
  });
  const report = await readiness({ embedding });
  expect(report.embedding).toMatchObject({ provider: 'deterministic-hash', status: 'warning' });
  expect(report).toMatchObject({ status: 'warning', ready: true });
  expect(report.warnings).toEqual(['Vectors tell equal texts from others and say nothing about meaning.']);
  expect(report.checks.map(({ id }) => id)).toContain('embedding.quality');
});

describe('readiness', () => {
  test('is ok when everything that is configured works', async () => {
    const report = await readiness({});
    expect(report).toMatchObject({
      status: 'ok',
      ready: true,
      summary: 'Ready.',
      blockers: [],
      warnings: [],
    });
    expect(report.checks.map((check) => check.id)).toEqual([
      'storage.canonical',
      'security.api_key',
      'security.canonical_access',
      'security.rate_limit',
    ]);
  });

  test('warns about what is open, and stays ready', async () => {
    const open = canonical(async () => {}, { open: true });
    const report = await readiness({ canonical: open, apiKey: { required: false, header: 'X' } });
    expect(report).toMatchObject({ status: 'warning', ready: true, summary: 'Ready, with 2 warnings.' });
    expect(report.warnings).toHaveLength(2);
  });

  const down = () => Promise.reject(new StoreError('unavailable', 'no such host db.internal'));
  test('is not ready when the store does not answer; only Development tells why', async () => {
    const development = await readiness({ canonical: canonical(down) });
    expect(development).toMatchObject({
      status: 'failed',
      ready: false,
      summary: 'Not ready: 1 check failed.',
    });
    expect(JSON.stringify(development)).toContain('no such host db.internal');
    const production = await readiness({ canonical: canonical(down), development: false });
    expect(production).toMatchObject({ status: 'failed', ready: false });
    expect(JSON.stringify(production)).not.toContain('db.internal');
  });

  test('answers a probe that reads statuses alone 503 with the blockers, and 200 where it is ready', async () => {
    const asked = { ...nothing, query: { status: true } };
    const { getReadiness } = handlers({ canonical: canonical(down) });
    await expect(getReadiness(asked, context)).rejects.toMatchObject({
      code: 'unavailable',
      message: 'Not ready: 1 check failed. The canonical store does not answer.',
    });
    const answer = await getReadiness({ ...nothing, query: { status: false } }, context);
    expect(answer).toMatchObject({ status: 200, body: { ready: false } });
    expect(await handlers({}).getReadiness(asked, context)).toMatchObject({
      status: 200,
      body: { ready: true },
    });
  });

  test('is not ready when the store has no room for writes, and says that it reads', async () => {
    const full = () => Promise.reject(new StoreError('full', 'the disk has no room'));
    const report = await readiness({ canonical: canonical(full) });
    expect(report).toMatchObject({ status: 'failed', ready: false });
    expect(report.blockers).toEqual(['The canonical store has no room for new data. It answers reads.']);
  });

  test('gives a store that hangs five seconds', async () => {
    const delays: number[] = [];
    const timers: Timers = {
      after(delayMs, callback) {
        delays.push(delayMs);
        queueMicrotask(callback);
        return () => {};
      },
    };
    const report = await readiness({ world: { timers }, canonical: canonical(() => new Promise(() => {})) });
    expect(delays).toEqual([5000]);
    expect(report.checks[0]?.details).toMatchObject({ reason: 'no answer within 5000 ms' });
  });

  test('callers of one moment share one ping; a later one asks again', async () => {
    let pings = 0;
    const { getReadiness } = handlers({
      canonical: canonical(async () => {
        pings += 1;
      }),
    });
    await Promise.all(Array.from({ length: 50 }, () => getReadiness(nothing, context)));
    expect(pings).toBe(1);
    await getReadiness(nothing, context);
    expect(pings).toBe(2);
  });

  test('a disabled store is no fault', async () => {
    const report = await readiness({ canonical: null });
    expect(report).toMatchObject({ status: 'ok', operationalLimits: {} });
    expect(report.checks[0]).toMatchObject({ status: 'ok', details: { enabled: false } });
    expect(report.health.storage.canonicalStore).toBe('disabled');
  });

  test('every answer fits its model', async () => {
    const changes: Partial<ServerDependencies>[] = [{}, { canonical: null }, { canonical: canonical(down) }];
    for (const change of changes) {
      const all = handlers(change);
      for (const id of [
        'getHealth',
        'getReadiness',
        'getOpenApiContract',
        'getPublicSchemaContract',
      ] as const) {
        const { body } = await all[id](nothing, context);
        const validate = responseValidators[`${id}:200`];
        expect(validate?.(JSON.parse(JSON.stringify(body))), id).toBe(true);
      }
    }
  });
});

describe('the published contract', () => {
  test('is the generated document', async () => {
    const all = handlers({});
    expect((await all.getOpenApiContract(nothing, context)).body).toEqual(openApi);
    expect((await all.getPublicSchemaContract(nothing, context)).body).toEqual(schemas);
  });

  test('has no canonical paths where the store is disabled', async () => {
    const { body } = await handlers({ canonical: null }).getOpenApiContract(nothing, context);
    expect(Object.keys(openApi.paths).some((path) => path.startsWith('/canonical/'))).toBe(true);
    const others = Object.keys(openApi.paths).filter((path) => !path.startsWith('/canonical/'));
    expect(Object.keys(body.paths)).toEqual(others);
    expect(others).toContain('/health');
  });
});

test('the banner is text for people', async () => {
  const { body } = await getServerInfo({ service: 'svc', version: '0.1.0' }, false)();
  expect(body).toBeInstanceOf(RawBody);
  expect(body.content).toMatch(/^svc 0\.1\.0\n/);
  expect(body.content).toContain('/openapi/svc.json');
});

test('the banner is called what the catalog calls it', () => {
  const listed = catalog.excluded.find(({ path }) => path === '/')?.operationId;
  expect(serverInfoOperation).toMatchObject({ id: listed, routes: [{ operationId: listed }] });
});
