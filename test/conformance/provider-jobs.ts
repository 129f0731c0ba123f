import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { declaredCollections } from '../../functions/compose/collections.ts';
import { PROVIDER_QUALIFICATIONS } from '../../functions/providers/qualifications.ts';
import type { RegisteredProvider } from '../../functions/providers/registered.ts';
import { PROVIDER_RUNS } from '../../functions/providers/run-guard.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { ExecutionClient } from '../support/execution.ts';
import { HELLO, PaidChat, ProvidersStage } from '../support/providers-stage.ts';
import { refusedWith } from './execution-stage.ts';
import { openStore, type TestedStore } from './stores/tested-store.ts';

/** The collections that a database must declare for these tests. */
export const jobCollections = [...declaredCollections, PROVIDER_RUNS, PROVIDER_QUALIFICATIONS];

/** The guarantees that provider jobs give their callers, on every provider of storage. */
export function describeProviderJobs(tested: TestedStore): void {
  describe(`provider jobs on ${tested.title}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await openStore(tested, jobCollections);
      // `quiet` does not see that a handler loads its code.
      await import('../../functions/groups/providers/jobs/run-provider-job.ts');
    });
    afterAll(() => store.close());
    describeLife(() => store);
    describeRefusals(() => store);
    if (!tested.delivers) describeInstances(() => store);
  });
}

function describeLife(store: () => RecordStore): void {
  test('a job has a receipt, is executed and shows its result', async () => {
    const stage = new ProvidersStage(store());
    const service = stage.providers();
    const job = await service.start({ ...HELLO, correlationId: ' mine ' });
    expect(job).toMatchObject({
      admission: {
        operationId: 'startProviderRunJob',
        status: 'accepted',
        replayed: false,
        statusUri: `/provider-jobs/${job.id}`,
      },
      provider: 'local-deterministic-ai',
      capability: 'ai.chat',
      operation: 'run',
      mode: 'advisory',
      correlationId: 'mine',
      requestHash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      result: null,
    });
    const done = await service.ended(job.id);
    expect(done).toMatchObject({ status: 'Succeeded', providerStatus: 'ok', failureClass: null });
    expect(done.result).toMatchObject({
      status: 'Succeeded',
      output: { message: { content: '[sha256:2cf24dba5fb0] hello' } },
      trace: { traceId: done.traceId, inputHash: job.requestHash },
    });
    expect([...stage.traces.keys()]).toEqual([done.traceId]);
    expect((await service.list()).jobs).toEqual([{ ...done, result: null }]);
    expect((await service.list({ includeResult: true })).jobs).toEqual([done]);
  });

  test('the run of a job is one of the built-in handler, with one attempt and no artifact', async () => {
    const stage = new ProvidersStage(store());
    const service = stage.providers();
    const { id } = await service.start();
    await service.ended(id);
    const client = new ExecutionClient(service.engine);
    expect(await client.get(id)).toMatchObject({
      handlerId: 'svc.provider.run',
      pluginId: 'svc.providers',
      maxAttempts: 1,
      tags: { 'svc.job': 'provider-run', 'svc.provider': 'local-deterministic-ai' },
    });
    expect(await client.artifacts(id)).toEqual([]);
  });

  test('a refusal of the provider is the result of a job that was accepted', async () => {
    const service = new ProvidersStage(store()).providers();
    const [wrong, unsupported] = [
      await service.start({ ...HELLO, mode: 'autonomous' }),
      await service.start({ ...HELLO, capability: 'agent.job' }),
    ];
    const job = await service.ended(wrong.id);
    expect(job).toMatchObject({
      status: 'Rejected',
      failureClass: 'policy',
      providerStatus: 'unknown_mode',
      admission: { status: 'accepted' },
      result: { status: 'Rejected', output: {}, rejection: { category: 'unknown_mode' } },
    });
    const other = await service.ended(unsupported.id);
    expect(other).toMatchObject({ status: 'Unsupported', result: { status: 'Unsupported' } });
    const { jobs } = await service.list({ includeResult: true });
    expect(jobs.map(({ status }) => status).toSorted()).toEqual(['Rejected', 'Unsupported']);
    expect(jobs.find(({ id }) => id === wrong.id)).toEqual(job);
  });

  test('the same key answers the first job, also after its result was a refusal', async () => {
    const service = new ProvidersStage(store()).providers();
    const body = { ...HELLO, mode: 'autonomous' };
    const { id } = await service.start(body, { key: 'k' });
    await service.ended(id);
    const again = await service.start(body, { key: 'k' });
    expect(again).toMatchObject({
      id,
      status: 'Rejected',
      admission: { replayed: true, status: 'accepted' },
    });
    expect(await refusedWith(service.start(HELLO, { key: 'k' }))).toBe('idempotency_conflict');
  });

  test('a list is of one provider when it is named, and continues where its page ends', async () => {
    const service = new ProvidersStage(store()).providers({ concurrencyMax: 0 });
    const rerank = { capability: 'ai.rerank', payload: { query: 'q', candidates: [{ id: 'a', text: 'b' }] } };
    const first = await service.start();
    const other = await service.start(rerank, { provider: 'local-token-overlap-reranker' });
    const second = await service.start();
    const of = await service.list({ provider: 'local-deterministic-ai' });
    expect(of.jobs.map(({ id }) => id)).toEqual([second.id, first.id]);
    const page = await service.list({ limit: 2 });
    const rest = await service.list({ limit: 2, after: page.next });
    expect([...page.jobs, ...rest.jobs].map(({ id }) => id)).toEqual([second.id, other.id, first.id]);
    expect((await service.list({ provider: 'absent' })).jobs).toEqual([]);
  });

  test('a job is cancelled while it waits, and a finished one only shows the request', async () => {
    const stage = new ProvidersStage(store());
    const waiting = stage.providers({ concurrencyMax: 0 });
    const { id } = await waiting.start();
    expect(await waiting.cancel(id)).toMatchObject({ status: 'Cancelled', cancellationRequested: true });
    const service = stage.providers();
    const done = await service.ended((await service.start()).id);
    expect(await service.cancel(done.id)).toEqual({ ...done, cancellationRequested: true });
  });
}

function describeRefusals(store: () => RecordStore): void {
  test('strangers, readers and other spaces start, see and cancel nothing', async () => {
    const service = new ProvidersStage(store()).providers({ concurrencyMax: 0 });
    const { id } = await service.start();
    for (const as of ['reader', 'stranger'])
      expect(await refusedWith(service.start(HELLO, { as }))).toBe('permission_denied');
    expect(await service.get(id, 'reader')).toMatchObject({ id });
    expect(await refusedWith(service.get(id, 'bob'))).toBe('not_found');
    expect(await refusedWith(service.cancel(id, 'bob'))).toBe('not_found');
    expect((await service.list({ as: 'bob' })).jobs).toEqual([]);
  });

  test('a caller without the right learns nothing of providers, and other callers get the fault', async () => {
    const service = new ProvidersStage(store()).providers();
    const provider = 'absent';
    expect(await refusedWith(service.start(HELLO, { as: 'reader', provider }))).toBe('permission_denied');
    expect(await refusedWith(service.start(HELLO, { provider }))).toBe('not_found');
    expect(await refusedWith(service.start({ ...HELLO, provider: 'other' }))).toBe('validation_failed');
    expect(await refusedWith(service.start({ ...HELLO, payload: '\ud800' }))).toBe('validation_failed');
    expect((await service.list()).jobs).toEqual([]);
  });
}

/** The provider with a fault in its code, whose error repeats the key. */
function faulty({ target, live }: RegisteredProvider): RegisteredProvider {
  const complete = () => Promise.reject(new TypeError('no header: sk-paid'));
  return { target, live: live && { ...live, model: { complete } } };
}

/** With a queue in memory: a queue with deliveries knows one address. */
function describeInstances(store: () => RecordStore): void {
  test('a revoked right applies to jobs that wait', async () => {
    const stage = new ProvidersStage(store());
    const { id } = await stage.providers({ concurrencyMax: 0 }).start();
    stage.grants = stage.grants.map((grant) => ({ ...grant, operations: ['read'] }));
    const service = stage.providers({ recheckMs: 1_000 });
    await service.engine.start();
    for (let turn = 0; turn < 20 && (await service.get(id)).completedAt === null; turn += 1)
      await stage.pass(1_000);
    await service.engine.stop();
    expect(await service.get(id)).toMatchObject({
      status: 'Failed',
      failureClass: 'permission_denied',
      result: null,
    });
    expect(stage.traces.size).toBe(0);
  });

  test('a paid model is called once, and its failure is a result', async () => {
    const stage = new ProvidersStage(store());
    const model = new PaidChat();
    const service = stage.providers({ providers: [model.provider(stage)] });
    const done = await service.ended((await service.start(HELLO, { provider: 'paid' })).id);
    expect(done.result).toMatchObject({ status: 'Succeeded', output: { message: { content: 'Hi' } } });
    model.answer = () => new Response('denied: sk-paid', { status: 401 });
    const failed = await service.ended((await service.start(HELLO, { provider: 'paid' })).id);
    expect(failed).toMatchObject({ status: 'Failed', failureClass: 'auth', providerStatus: 'http_401' });
    expect(JSON.stringify([failed, [...stage.traces]])).not.toContain('sk-paid');
    expect(model.calls).toBe(2);
  });

  test('a fault of the service ends a job, whose result does not show it', async () => {
    const stage = new ProvidersStage(store());
    const model = new PaidChat();
    const service = stage.providers({ providers: [faulty(model.provider(stage))] });
    const job = await service.ended((await service.start(HELLO, { provider: 'paid' })).id);
    expect(job).toMatchObject({
      status: 'Failed',
      failureClass: 'unknown',
      providerStatus: 'job_unhandled_exception',
      result: {
        output: {},
        error: 'The run ended by a fault of the service.',
        rejection: { retryRecommendation: 'do_not_retry' },
        trace: { traceId: job.traceId },
      },
    });
    expect([...stage.traces.values()]).toMatchObject([
      { id: job.traceId, resultSummary: { status: 'Failed', providerStatus: 'job_unhandled_exception' } },
    ]);
    expect(JSON.stringify([job, [...stage.traces]])).not.toContain('sk-paid');
  });

  test('a fault of the traces does not cost the result', async () => {
    const writeTrace = () => Promise.reject(new TypeError('no such operation'));
    const service = new ProvidersStage(store()).providers({ writeTrace });
    const job = await service.ended((await service.start()).id);
    expect(job.result).toMatchObject({ status: 'Failed', providerStatus: 'job_unhandled_exception' });
  });

  test('a running call is cancelled, and leaves no trace', async () => {
    const stage = new ProvidersStage(store());
    const model = new PaidChat();
    const called = Promise.withResolvers<void>();
    model.gate = () => {
      called.resolve();
      return new Promise(() => undefined);
    };
    const service = stage.providers({ providers: [model.provider(stage)] });
    const { id } = await service.start(HELLO, { provider: 'paid' });
    await called.promise;
    expect(await service.cancel(id)).toMatchObject({ cancellationRequested: true });
    for (let turn = 0; turn < 60 && (await service.get(id)).completedAt === null; turn += 1)
      await stage.pass(1_000);
    expect(await service.get(id)).toMatchObject({ status: 'Cancelled', result: null });
    expect(stage.traces.size).toBe(0);
  });

  test('a provider that the settings no longer name ends its jobs as not configured', async () => {
    const stage = new ProvidersStage(store());
    const model = new PaidChat();
    const before = stage.providers({ providers: [model.provider(stage)], concurrencyMax: 0 });
    const { id } = await before.start(HELLO, { provider: 'paid' });
    const after = stage.providers({ recheckMs: 1_000 });
    await after.engine.start();
    for (let turn = 0; turn < 20 && (await after.get(id)).completedAt === null; turn += 1)
      await stage.pass(1_000);
    await after.engine.stop();
    const job = await after.get(id);
    expect(job).toMatchObject({
      status: 'NotConfigured',
      providerStatus: 'provider_not_found',
      result: { provider: 'paid', rejection: { retryRecommendation: 'fix_configuration' } },
    });
    expect(model.calls).toBe(0);
    expect([...stage.traces.values()]).toMatchObject([
      { id: job.traceId, adapter: 'paid', request: { jobId: id, payloadHash: job.requestHash } },
    ]);
  });
}
