import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningService, startService } from '../../../test/support/service.ts';
import { machine } from '../../compose/machine.ts';
import { json, type ModelServer, startModelServer } from '../../providers/outgoing/model-server.fixture.ts';

/** Providers over HTTP. Every answer is checked against its model. */

const LOCAL = 'local-deterministic-ai';
const RERANKER = 'local-token-overlap-reranker';

let service: RunningService;
let live: RunningService;
let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer(
    json({ choices: [{ finish_reason: 'stop', message: { content: 'ready' } }] }),
  );
  const chat = (at: number, id: string): Record<string, string> => ({
    [`Providers:${at}:Id`]: id,
    [`Providers:${at}:Kind`]: 'openai-compatible',
    [`Providers:${at}:BaseAddress`]: `http://127.0.0.1:${model.port}/v1`,
    [`Providers:${at}:Model`]: 'm',
    [`Providers:${at}:Capabilities:0`]: 'ai.chat',
  });
  service = await startService({ settings: chat(0, 'chat') });
  // Calls are counted by the minute: none begins between two requests.
  const now = Date.now();
  live = await startService({
    world: { ...machine, clock: { now: () => now } },
    settings: {
      'Providers:EnableLiveTargets': 'yes',
      ...chat(0, 'chat'),
      'Providers:0:CallsPerMinute': '4',
      'Providers:0:TokensPerDayMax': '100000',
      ...chat(1, 'keyless'),
      'Providers:1:ApiKeyFile': '/nowhere/key',
    },
  });
});
afterAll(async () => {
  await Promise.all([service.close(), live.close()]);
  await model.close();
});

async function call(path: string, { method = 'GET', body, on = service }: Call = {}) {
  const answer = await on.call({ method, path, body });
  return { status: answer.status, json: answer.json<Record<string, unknown>>() };
}

interface Call {
  readonly method?: string;
  readonly body?: object;
  readonly on?: RunningService;
}

const qualify = (provider: string, body: object, on = service) =>
  call(`/providers/${provider}/qualify`, { method: 'POST', body, on });

describe('what a provider can do', () => {
  test('listProviders answers all of them in the order of their ids', async () => {
    const { status, json: list } = await call('/providers');
    expect([status, list]).toMatchObject([
      200,
      [
        { id: 'chat', family: 'openai-compatible', local: false, requiresNetwork: true, auth: 'none' },
        { id: LOCAL, family: 'local', local: true, configHash: expect.stringMatching(/^sha256:/) },
        { id: RERANKER, capabilities: ['ai.rerank'] },
      ],
    ]);
  });

  test('getProvider answers the bounds of its capabilities', async () => {
    const { json: provider } = await call(`/providers/${RERANKER}`);
    expect(provider).toMatchObject({
      profile: { id: RERANKER },
      capabilities: [{ id: 'ai.rerank', operations: ['run'], inputLimits: { maxInputBytes: 98_304 } }],
    });
  });

  test('getProviderCapabilityMatrix answers each capability of each provider', async () => {
    const { json: matrix } = await call('/providers/capabilities');
    expect(matrix).toMatchObject({
      items: [
        {
          provider: 'chat',
          enabled: false,
          capabilities: {
            'ai.chat': { supported: false, unsupportedFeatures: expect.arrayContaining([DISABLED]) },
          },
        },
        {
          provider: LOCAL,
          capabilities: { 'ai.chat': { supported: true }, 'agent.job': { supported: false } },
        },
        { provider: RERANKER, supportsQuota: false },
      ],
      disabledProviders: [{ providerId: 'chat', enableLiveTargets: false }],
      operationalLimits: { maxRunsPerWindow: 60, maxConcurrentRuns: 1, authRequired: false },
    });
    expect(matrix['capabilityIds']).toHaveLength(13);
  });

  test('listProviderModels answers the model of the settings', async () => {
    expect((await call(`/providers/${LOCAL}/models`)).json).toMatchObject({
      items: [{ id: LOCAL, default: true }],
    });
    expect((await call('/providers/chat/models')).json).toMatchObject({
      source: 'configuration',
      items: [{ id: 'm' }],
    });
  });
});

const DISABLED = 'provider_disabled_by_configuration';

describe('the state of a provider', () => {
  test('listProviderReadiness and getProviderReadiness tell what was proven, and what may not be called', async () => {
    const { json: all } = await call('/providers/readiness');
    expect(all['items']).toHaveLength(8);
    expect((await call('/providers/chat/readiness')).json).toMatchObject({
      items: [{ capability: 'ai.chat', callable: false, ready: false, reason: 'provider_disabled' }],
      disabledProviders: [{ providerId: 'chat' }],
    });
  });

  test('listProviderDoctor and getProviderDoctor say what is wrong with a provider, and call none', async () => {
    const { json: all } = await call('/providers/doctor');
    expect(all).toMatchObject([
      { provider: 'chat', status: 'failed' },
      { provider: LOCAL, status: expect.stringMatching(/warning|ok/) },
      { provider: RERANKER },
    ]);
    const { json: keyless } = await call('/providers/keyless/doctor', { on: live });
    expect(keyless).toMatchObject({
      status: 'failed',
      checks: expect.arrayContaining([
        expect.objectContaining({
          id: 'auth.key_file',
          status: 'failed',
          details: { providerStatus: 'secret_missing' },
        }),
      ]),
    });
    expect(JSON.stringify(keyless)).not.toContain('nowhere');
    expect((await call('/providers/keyless/readiness', { on: live })).json).toMatchObject({
      items: [{ callable: false, reason: 'provider_doctor_failed' }],
    });
    expect(model.received).toEqual([]);
  });

  test('the doctor finds a key that is there', async () => {
    const path = join(live.folder, '..', `svc-provider-key-${process.pid}`);
    writeFileSync(path, 'k\n');
    const other = await startService({
      settings: {
        'Providers:EnableLiveTargets': 'yes',
        'Providers:0:Id': 'keyed',
        'Providers:0:Kind': 'openai-compatible',
        'Providers:0:BaseAddress': 'https://models.test/v1',
        'Providers:0:Model': 'm',
        'Providers:0:Capabilities:0': 'ai.chat',
        'Providers:0:ApiKeyFile': path,
      },
    });
    try {
      const { json: keyed } = await call('/providers/keyed/doctor', { on: other });
      expect(keyed).toMatchObject({
        status: 'warning',
        checks: expect.arrayContaining([expect.objectContaining({ id: 'auth.key_file', status: 'ok' })]),
      });
      expect((await call('/providers/keyed', { on: other })).json).toMatchObject({
        profile: { auth: 'api-key' },
      });
    } finally {
      await other.close();
    }
  });

  test('getProvider, getProviderQuota and listProviderQualifications know no provider that is not registered', async () => {
    for (const path of ['', '/doctor', '/readiness', '/qualifications'])
      expect(await call(`/providers/none${path}`)).toMatchObject({
        status: 404,
        json: { code: 'not_found' },
      });
    expect(await qualify('none', {})).toMatchObject({ status: 404 });
    for (const path of ['models', 'quota'])
      expect(await call(`/providers/none/${path}`)).toMatchObject({
        status: 200,
        json: { status: 'unsupported', providerStatus: 'provider_not_registered', items: [] },
      });
  });
});

describe('qualifyProvider', () => {
  test('proves that capabilities work, and readiness and traces show it', async () => {
    const { status, json: proofs } = await qualify(LOCAL, { capability: 'ai.chat' });
    expect([status, proofs]).toMatchObject([
      200,
      [{ provider: LOCAL, capability: 'ai.chat', status: 'validated', lastValidatedAt: expect.any(String) }],
    ]);
    const [proof] = proofs as unknown as [{ readonly evidenceRefs: readonly string[] }];
    const [evidence = ''] = proof.evidenceRefs;
    const trace = (await call(`/traces/${evidence.replace('trace:', '')}`)).json;
    expect(trace).toMatchObject({ operation: 'provider.run', adapter: LOCAL });
    const { json: traces } = await call('/traces?operation=provider.qualification');
    expect(traces).toMatchObject([{ adapter: LOCAL, resultSummary: { status: 'validated' } }]);
    expect(JSON.stringify([trace, traces])).not.toContain('Answer with the word');
    const readiness = (await call(`/providers/${LOCAL}/readiness`)).json;
    expect(readiness).toMatchObject({
      items: expect.arrayContaining([
        expect.objectContaining({ capability: 'ai.chat', ready: true, reason: 'validated' }),
        expect.objectContaining({ capability: 'ai.extract', ready: false, canRunUnvalidated: true }),
      ]),
    });
    expect((await call(`/providers/${LOCAL}/qualifications`)).json).toMatchObject(
      expect.arrayContaining([expect.objectContaining({ capability: 'ai.chat', status: 'validated' })]),
    );
  });

  test('tries all capabilities where none is named', async () => {
    const { json: proofs } = await qualify(RERANKER, {});
    expect(proofs).toMatchObject([{ capability: 'ai.rerank', status: 'validated' }]);
    const { json: all } = await qualify(LOCAL, { capability: null, mode: null });
    expect(all).toHaveLength(6);
  });

  test('costs calls of a provider over the network, and its quota tells how many', async () => {
    const before = model.received.length;
    const quota = async () => (await call('/providers/chat/quota', { on: live })).json;
    expect(await quota()).toMatchObject({
      status: 'succeeded',
      advisory: true,
      items: [{ primary: { usedPercent: 0 } }, {}],
    });
    const { json: proofs } = await qualify('chat', {}, live);
    expect(proofs).toMatchObject([{ capability: 'ai.chat', status: 'validated' }]);
    expect(model.received).toHaveLength(before + 1);
    expect(await quota()).toMatchObject({
      items: [
        {
          limitId: 'calls_per_minute',
          primary: { usedPercent: 25, remainingPercent: 75, windowDurationMins: 1 },
        },
        { limitId: 'tokens_per_day', primary: { windowDurationMins: 1_440 } },
      ],
    });
    expect((await call('/providers/quotas', { on: live })).json).toMatchObject([
      { provider: 'chat', status: 'succeeded' },
      { provider: 'keyless', status: 'unsupported', providerStatus: 'quota_unsupported' },
      { provider: LOCAL, status: 'unsupported' },
      { provider: RERANKER, status: 'unsupported' },
    ]);
  });

  test('a provider that may not be called proves nothing', async () => {
    expect((await qualify('chat', {})).json).toMatchObject([
      { status: 'unvalidated', lastValidatedAt: null },
    ]);
    expect((await qualify('keyless', {}, live)).json).toMatchObject([{ status: 'failed' }]);
  });

  test.each<[string, object]>([
    ['another capability', { capability: 'ai.sing' }],
    ['a capability that the provider lacks', { capability: 'ai.embedding' }],
    ['another mode', { mode: 'autonomous' }],
    ['an unknown member', { provider: LOCAL }],
  ])('refuses %s', async (_, body) => {
    expect(await qualify(LOCAL, body)).toMatchObject({ status: 400, json: { code: 'validation_failed' } });
  });
});

describe('the server', () => {
  test('health names the limits of runs, and readiness warns of what is not proven', async () => {
    expect((await call('/health')).json).toMatchObject({
      security: {
        providerRunLimits: { maxRunsPerWindow: 60, defaultJobListLimit: 50, jobPersistence: 'durable' },
      },
    });
    const { json: report } = await call('/readiness', { on: live });
    expect(report).toMatchObject({
      ready: true,
      status: 'warning',
      operationalLimits: { maxConcurrentRuns: 1 },
      providers: { providerCount: 4, networkProviderCount: 2, authProviderCount: 1, capabilityCount: 9 },
      checks: expect.arrayContaining([
        expect.objectContaining({ id: 'providers.limits', details: { unlimitedProviderCount: 1 } }),
        expect.objectContaining({ id: 'providers.readiness', status: 'warning' }),
      ]),
    });
  });
});
