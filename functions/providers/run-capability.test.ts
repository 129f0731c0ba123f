import { afterEach, describe, expect, test } from 'vitest';
import { json, type Reply } from './outgoing/model-server.fixture.ts';
import { providerGuard } from './provider-guard.ts';
import { qualificationsOf } from './qualifications.ts';
import { qualify } from './qualify.ts';
import { rerankWith } from './rerank.ts';
import { FAILURES_MAX } from './rules/circuit.ts';
import { RUN_LIMITS } from './rules/run-limits.ts';
import { resultOf } from './rules/run-result.ts';
import {
  ai,
  CONTENT,
  closeServer,
  completion,
  Instance,
  KEY,
  local,
  newTraceId,
  reranker,
  runOf,
  server,
} from './run-capability.fixture.ts';
import { runCapability } from './run-capability.ts';
import { dyingBehindAnswers, Memory } from './run-memory.fixture.ts';

afterEach(closeServer);

describe('a run of a local provider', () => {
  test('has its output, and a trace that has hashes and no content', async () => {
    const instance = new Instance();
    const ended = await runCapability(instance.parts, local, runOf({ contextRefs: ['r'] }));
    const result = resultOf(ended);
    expect(result).toMatchObject({
      status: 'Succeeded',
      providerStatus: 'ok',
      provider: ai.id,
      mode: 'advisory',
      rejection: null,
      trace: { traceId: ended.traceId, configHash: ai.configHash },
    });
    expect(JSON.stringify(result.output)).toContain(CONTENT);
    const [trace] = instance.traces;
    expect(trace).toMatchObject({
      operation: 'provider.run',
      adapter: ai.id,
      space: 'a',
      request: { capability: 'ai.chat', contextRefs: ['r'], jobId: ended.jobId },
      resultSummary: { status: 'Succeeded', outputHash: result.trace.outputHash },
    });
    expect(JSON.stringify(trace)).not.toContain(CONTENT);
  });

  test('that is refused has a trace as well', async () => {
    const instance = new Instance();
    const { outcome } = await runCapability(instance.parts, local, runOf({ mode: 'autonomous' }));
    expect(outcome).toMatchObject({ status: 'Rejected', providerStatus: 'unknown_mode' });
    expect(instance.traces[0]).toMatchObject({ resultSummary: { providerStatus: 'unknown_mode' } });
  });

  test('is refused as the 61st of a minute by two instances together, and other spaces are not', async () => {
    const one = new Instance();
    const two = new Instance(one.database);
    const statuses: string[] = [];
    for (let at = 0; at < 61; at += 1) {
      const { parts } = at % 2 === 0 ? one : two;
      const { outcome } = await runCapability(parts, local, runOf());
      statuses.push(outcome.providerStatus);
    }
    expect(statuses).toEqual([...Array.from({ length: 60 }, () => 'ok'), 'rate_limited']);
    const other = await runCapability(two.parts, local, runOf({}, { space: 'b' }));
    expect(other.outcome.status).toBe('Succeeded');
  });

  test('with too large an output has none', async () => {
    const { outcome } = await runCapability(new Instance().parts, local, runOf({ maxOutputBytes: 10 }));
    expect(outcome).toMatchObject({ failureClass: 'schema', providerStatus: 'output_limit', output: null });
  });
});

describe('a run over the network', () => {
  test('has the text of the model, and its trace has tokens and cost', async () => {
    const instance = new Instance();
    const provider = await instance.remote(completion('Hi'));
    const { outcome } = await runCapability(instance.parts, provider, runOf());
    expect(outcome.output).toMatchObject({ message: { content: 'Hi' }, stopReason: 'complete' });
    expect(instance.traces[0]?.resultSummary['usage']).toEqual({
      inputTokens: 500,
      outputTokens: 250,
      isReported: true,
      costUsd: 0.003,
    });
  });

  test('whose process dies between the answer and its checkpoint is paid for twice at most', async () => {
    const instance = new Instance();
    const provider = await instance.remote(completion('Hi'));
    const memory = new Memory();
    const dying = dyingBehindAnswers(memory);
    const run = runOf();
    await expect(runCapability(instance.parts, provider, { ...run, memory: dying })).rejects.toThrow('died');
    expect(instance.traces).toEqual([]);
    const { outcome } = await runCapability(instance.parts, provider, { ...run, memory });
    expect([outcome.status, server?.received.length]).toEqual(['Succeeded', 2]);
    const again = await runCapability(instance.parts, provider, { ...run, memory });
    expect([again.outcome, server?.received.length]).toEqual([outcome, 2]);
  });

  test.each([`{"a":${'['.repeat(64)}${']'.repeat(64)}}`, '{"a":1e400}', String.raw`{"a":"\ud800"}`])(
    'answered what the store cannot keep is paid for, and failed: %s',
    async (content) => {
      const instance = new Instance();
      const memory = new Memory();
      const run = runOf({ capability: 'ai.extract', payload: { text: 'x' } }, { memory });
      const { outcome } = await runCapability(
        instance.parts,
        await instance.remote(completion(content)),
        run,
      );
      expect(outcome).toMatchObject({ status: 'Failed', providerStatus: 'invalid_structured_output' });
      expect([instance.traces.length, memory.kept.has('response')]).toEqual([1, true]);
    },
  );

  test('that is resumed after its lease has ended counts once, so that a full window does not refuse it', async () => {
    const instance = new Instance();
    const provider = await instance.remote(completion('Hi'), completion('Hi'), completion('Hi'));
    const parts = { ...instance.parts, limits: { ...RUN_LIMITS, maxRunsPerWindow: 1 } };
    const memory = new Memory();
    memory.kept.set('calls', 1);
    await runCapability(parts, provider, runOf());
    expect((await runCapability(parts, provider, runOf())).outcome.providerStatus).toBe('rate_limited');
    const { outcome } = await runCapability(parts, provider, runOf({}, { memory }));
    expect([outcome.status, server?.received.length]).toEqual(['Succeeded', 2]);
  });

  test('whose process dies like this twice is not tried a third time', async () => {
    const instance = new Instance();
    const provider = await instance.remote(completion('Hi'));
    const memory = new Memory();
    memory.kept.set('calls', 2);
    const { outcome } = await runCapability(instance.parts, provider, runOf({}, { memory }));
    expect(outcome).toMatchObject({ status: 'Failed', providerStatus: 'answer_lost' });
    expect(server?.received).toHaveLength(0);
  });

  test('refused by the limits of runs is not counted as a call, and stores no state to resume', async () => {
    const instance = new Instance();
    const provider = await instance.remote(completion('Hi'));
    const { store } = instance.parts;
    const limits = { callsPerMinute: null, tokensPerDayMax: 1, spaceSharePercent: 100 };
    const guard = providerGuard({ store, clock: instance.world.clock, provider: 'mine', limits });
    const live = provider.live === null ? null : { ...provider.live, guard };
    const { outcome } = await runCapability(instance.parts, { ...provider, live }, runOf());
    expect(outcome).toMatchObject({ status: 'Rejected', failureClass: 'quota', reached: 'guard' });
    expect(server?.received).toHaveLength(0);
  });

  test.each<[string, Reply, object]>([
    ['that fails', json({ error: { message: `bad ${KEY}` } }, 500), { failureClass: 'provider_unavailable' }],
    ['that refuses the key', json({ error: { message: `bad ${KEY}` } }, 401), { failureClass: 'auth' }],
    [
      'that answers a page',
      (response) => response.writeHead(200, { 'content-type': 'text/html' }).end(KEY),
      { failureClass: 'schema', providerStatus: 'unexpected_content_type' },
    ],
    [
      'that sends elsewhere',
      json({}, 302, { location: 'http://169.254.169.254/' }),
      { status: 'NotConfigured', providerStatus: 'http_302' },
    ],
  ])('of a provider %s is a result without its words', async (_, reply, expected) => {
    const instance = new Instance();
    const provider = await instance.remote(reply);
    const ended = await runCapability(instance.parts, provider, runOf());
    expect(ended.outcome).toMatchObject({ output: null, ...expected });
    expect(JSON.stringify([resultOf(ended), instance.traces])).not.toMatch(new RegExp(`${KEY}|169\\.254`));
  });

  test('that lasts too long ends with its time', async () => {
    const instance = new Instance();
    const arrived = Promise.withResolvers<void>();
    const provider = await instance.remote(() => arrived.resolve());
    const work = runCapability(instance.parts, provider, runOf());
    await arrived.promise;
    instance.world.timeOut();
    expect((await work).outcome).toMatchObject({ status: 'TimedOut', providerStatus: 'server_timeout' });
  });

  test('that lasts too long again and again is a failure of the provider, which is then left alone', async () => {
    const instance = new Instance();
    let arrived = Promise.withResolvers<void>();
    const provider = await instance.remote(
      ...Array.from({ length: FAILURES_MAX }, () => () => arrived.resolve()),
    );
    for (let each = 0; each < FAILURES_MAX; each += 1) {
      arrived = Promise.withResolvers<void>();
      const work = runCapability(instance.parts, provider, runOf({}, { id: `late ${each}` }));
      await arrived.promise;
      // The time of the run ends before that of its first request.
      instance.world.timeOut(1);
      expect((await work).outcome.status).toBe('TimedOut');
    }
    const { outcome } = await runCapability(instance.parts, provider, runOf());
    expect(outcome).toMatchObject({ providerStatus: 'circuit_open', reached: 'guard' });
  });

  test('that is cancelled has neither an outcome nor a trace, and frees its place', async () => {
    const instance = new Instance();
    const arrived = Promise.withResolvers<void>();
    const provider = await instance.remote(() => arrived.resolve(), completion('Hi'));
    const controller = new AbortController();
    const work = runCapability(instance.parts, provider, runOf({}, { signal: controller.signal }));
    await arrived.promise;
    controller.abort();
    await expect(work).rejects.toMatchObject({ failureClass: 'cancelled' });
    expect(instance.traces).toEqual([]);
    const { outcome } = await runCapability(instance.parts, provider, runOf());
    expect(outcome.status).toBe('Succeeded');
  });

  test('waits for a place, and is refused when none becomes free', async () => {
    const instance = new Instance();
    const arrived = Promise.withResolvers<void>();
    const provider = await instance.remote(() => arrived.resolve());
    const controller = new AbortController();
    const work = runCapability(instance.parts, provider, runOf({}, { signal: controller.signal }));
    await arrived.promise;
    const { outcome } = await runCapability(instance.parts, provider, runOf());
    expect(outcome).toMatchObject({ status: 'Rejected', providerStatus: 'concurrency_queue_timeout' });
    expect(instance.world.waits).toHaveLength(20);
    expect(server?.received).toHaveLength(1);
    controller.abort();
    await expect(work).rejects.toThrow();
  });

  test.each([
    ['a job', true, 30_000],
    ['another run', false, 5_000],
  ])('%s waits for its place as long as the settings allow', async (_, isJob, waitedMs) => {
    const instance = new Instance();
    const arrived = Promise.withResolvers<void>();
    const remote = await instance.remote(() => arrived.resolve());
    if (remote.live === null) throw new Error('a provider over the network is live');
    const provider = { ...remote, live: { ...remote.live, queueSeconds: 30 } };
    const controller = new AbortController();
    const work = runCapability(instance.parts, provider, runOf({}, { signal: controller.signal }));
    await arrived.promise;
    instance.world.waits.length = 0;
    const { outcome } = await runCapability(instance.parts, provider, runOf({}, { isJob }));
    expect(outcome).toMatchObject({ status: 'Rejected', providerStatus: 'concurrency_queue_timeout' });
    const waited = instance.world.waits.reduce((sum, wait) => sum + wait, 0);
    expect(waited).toBeLessThanOrEqual(waitedMs);
    expect(waited).toBeGreaterThan(waitedMs - 2_000);
    // Looks are transactions: a long wait has few.
    expect(instance.world.waits.length).toBeLessThan(40);
    controller.abort();
    await expect(work).rejects.toThrow();
  });
});

describe('a qualification', () => {
  const asked = (more: object = {}) => ({
    capabilities: ['ai.chat', 'ai.review'] as const,
    mode: 'mechanics',
    space: 'a',
    correlationId: 'c',
    signal: new AbortController().signal,
    newTraceId,
    ...more,
  });

  test('tries each capability, stores the proof, and leaves two traces for each', async () => {
    const instance = new Instance();
    const views = await qualify(instance.parts, local, asked());
    expect(views).toMatchObject([
      { provider: ai.id, capability: 'ai.chat', status: 'validated' },
      { capability: 'ai.review', status: 'validated' },
    ]);
    expect(instance.traces.map(({ operation }) => operation)).toEqual([
      'provider.run',
      'provider.qualification',
      'provider.run',
      'provider.qualification',
    ]);
    const [evidence] = views;
    expect(evidence?.evidenceRefs[0]).toBe(`trace:${instance.traces[0]?.id}`);
  });

  test('of a failing provider fails, and a successful run replaces it', async () => {
    const instance = new Instance();
    const provider = await instance.remote(json({}, 401), completion('Hi'));
    const capabilities = ['ai.chat'] as const;
    const views = await qualify(instance.parts, provider, asked({ capabilities }));
    expect(views).toMatchObject([{ status: 'failed', lastValidatedAt: null }]);
    await runCapability(instance.parts, provider, runOf());
    const [stored] = await qualificationsOf(instance.parts.store, ['mine']);
    // The run belongs to its space: other spaces see nothing more of it.
    expect(stored).toMatchObject([{ status: 'validated', evidenceRefs: [] }]);
  });

  test('shows its trace to its own caller alone', async () => {
    const instance = new Instance();
    const capabilities = ['ai.chat'] as const;
    const [own] = await qualify(instance.parts, local, asked({ capabilities }));
    const [stored = []] = await qualificationsOf(instance.parts.store, [ai.id]);
    const inputs = own?.evidenceRefs.filter((ref) => ref.startsWith('input:'));
    expect(own?.evidenceRefs.map((ref) => ref.replace(/:.*/, ''))).toEqual(['trace', 'input', 'output']);
    expect(stored).toMatchObject([{ status: 'validated', evidenceRefs: inputs }]);
  });

  test('of a disabled provider keeps earlier proofs', async () => {
    const instance = new Instance();
    const provider = await instance.remote(completion('Hi'));
    const capabilities = ['ai.chat'] as const;
    await qualify(instance.parts, provider, asked({ capabilities }));
    const off = { ...provider, target: { ...provider.target, isEnabled: false } };
    expect(await qualify(instance.parts, off, asked({ capabilities }))).toMatchObject([
      { status: 'validated' },
    ]);
    expect(server?.received).toHaveLength(1);
  });

  test('that the limits refuse proves nothing', async () => {
    const instance = new Instance();
    const limits = { ...RUN_LIMITS, maxRunsPerWindow: 1 };
    const views = await qualify({ ...instance.parts, limits }, local, asked());
    expect(views.map(({ status }) => status)).toEqual(['validated', 'unvalidated']);
  });
});

describe('reranking by a provider', () => {
  const candidates = [
    { id: 'a', text: `zebra ${CONTENT}` },
    { id: 'b', text: 'sea level' },
  ];
  const call = { space: 'a', correlationId: 'c', signal: new AbortController().signal };

  test('gives ids, ranks and scores, and leaves a trace without texts', async () => {
    const instance = new Instance();
    const rerank = rerankWith(instance.parts, { target: reranker, live: null }, newTraceId);
    const result = await rerank({ query: 'sea', candidates, limit: 1 }, call);
    expect(result).toMatchObject({
      provider: reranker.id,
      items: [{ id: 'b', rank: 1, score: 1 }],
      maxInputBytes: 65_536,
    });
    expect(instance.traces).toMatchObject([{ id: result.traceId, operation: 'provider.run' }]);
    expect(JSON.stringify(instance.traces)).not.toContain(CONTENT);
  });

  test('asks a model over the network, and orders its scores', async () => {
    const instance = new Instance();
    const results = [0, 1].map((index) => ({ index, relevance_score: index + 0.5 }));
    const provider = await instance.remote(json({ results }));
    const rerank = rerankWith(instance.parts, provider, newTraceId);
    const { items } = await rerank({ query: 'sea', candidates, limit: 5 }, call);
    expect(items).toEqual([
      { id: 'b', rank: 1, score: 1.5 },
      { id: 'a', rank: 2, score: 0.5 },
    ]);
  });

  test('that is refused is a result with its reason', async () => {
    const rerank = rerankWith(new Instance().parts, { target: reranker, live: null }, newTraceId);
    const large = [{ id: 'a', text: 'x'.repeat(70_000) }];
    const result = await rerank({ query: 'sea', candidates: large, limit: 5 }, call);
    expect(result.items).toBeNull();
    expect(result.failure).toMatchObject({ failureClass: 'policy', providerStatus: 'input_limit' });
    expect(result.payloadBytes).toBeGreaterThan(result.maxInputBytes);
  });
});
