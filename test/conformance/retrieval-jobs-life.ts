import { expect, test } from 'vitest';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { ProviderFailure } from '../../functions/providers/failure.ts';
import { runComparison, runEvaluation } from '../../functions/retrieval/evaluation/run-evaluation.ts';
import type { Rerankers } from '../../functions/retrieval/reranker.ts';
import { readComparison, readEvaluation } from '../../functions/retrieval/rules/evaluation/request.ts';
import { ExecutionClient } from '../support/execution.ts';
import { RetrievalJobsStage } from '../support/retrieval-jobs-stage.ts';
import type { JobsConformance } from './jobs-suite.ts';

const caseOf = (id: string, own: object = {}) => ({
  name: `case ${id}`,
  request: { query: id, collections: ['notes'] },
  expected: [{ id, relevance: 2 }, { id: 'both' }],
  ...own,
});
const absent = caseOf('fox', { request: { query: 'fox', collections: ['absent'] } });
const cases = [caseOf('fox'), absent, caseOf('river')];
const variants = [
  { id: 'words', label: 'By words' },
  { id: 'both', searchMode: 'hybrid' },
  { id: 'none', collections: ['absent'] },
];
/** More than a run holds. */
const large = { cases: [caseOf('fox', { metadata: { text: 'x'.repeat(100_000) } })] };

export function describeRetrievalJobsLife(conformance: JobsConformance): void {
  describeReports(conformance);
  describeRefusals(conformance);
  describeEnds(conformance);
  describeRerankers(conformance);
}

async function furnished({ store }: JobsConformance): Promise<RetrievalJobsStage> {
  const stage = new RetrievalJobsStage(store());
  await stage.furnish();
  return stage;
}

async function refusalOf(promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ServiceError)) throw error ?? new Error('nothing was refused');
  return error.code;
}

function describeReports(conformance: JobsConformance): void {
  const signal = new AbortController().signal;

  test('an evaluation has a receipt, counts its cases and shows its report', async () => {
    const stage = await furnished(conformance);
    const service = stage.jobs();
    const job = await service.start({ cases });
    expect(job).toMatchObject({
      admission: {
        operationId: 'startRetrievalEvaluationJob',
        status: 'accepted',
        statusUri: `/retrieval/evaluate/jobs/${job.id}`,
      },
      kind: 'evaluation',
      requested: 3,
      variantsRequested: 0,
      evaluationResult: null,
    });
    const done = await service.ended(job.id);
    expect(done).toMatchObject({
      status: 'succeeded',
      casesAttempted: 3,
      casesSucceeded: 2,
      casesFailed: 1,
      currentCaseName: null,
      progress: 1,
      result: null,
    });
    const { parts, space } = stage.retrieval;
    expect(done.evaluationResult).toEqual(
      await runEvaluation(parts, space, readEvaluation({ cases }), { signal }),
    );
    expect((await service.list()).jobs).toEqual([{ ...done, evaluationResult: null }]);
    expect((await service.list({ includeResult: true })).jobs).toEqual([done]);
  });

  test('a comparison counts its variants', async () => {
    const stage = await furnished(conformance);
    const service = stage.jobs();
    const job = await service.start({ cases, variants });
    expect(job.admission.operationId).toBe('startRetrievalEvaluationComparisonJob');
    const done = await service.ended(job.id);
    expect(done).toMatchObject({
      kind: 'comparison',
      status: 'succeeded',
      requested: 3,
      casesAttempted: 0,
      variantsRequested: 3,
      variantsAttempted: 3,
      variantsSucceeded: 2,
      variantsFailed: 1,
      currentVariantId: null,
      evaluationResult: null,
    });
    const { parts, space } = stage.retrieval;
    expect(done.result).toEqual(
      await runComparison(parts, space, readComparison({ cases, variants }), { signal }),
    );
  });

  test('the runs are those of the built-in handlers, with one attempt and no artifact', async () => {
    const stage = await furnished(conformance);
    const service = stage.jobs();
    const client = new ExecutionClient(service.engine);
    for (const [body, handlerId] of [
      [{ cases }, 'svc.retrieval.evaluation.run'],
      [{ cases, variants }, 'svc.retrieval.evaluation.compare'],
    ] as const) {
      const { id, kind } = await service.start(body);
      await service.ended(id);
      expect(await client.get(id)).toMatchObject({
        handlerId,
        pluginId: 'svc.retrieval.evaluation',
        maxAttempts: 1,
        tags: { 'svc.job': 'retrieval-evaluation', 'svc.retrieval.kind': kind },
      });
      expect(await client.artifacts(id)).toEqual([]);
    }
  });

  test('a report that is too large for a run is in the views of the job all the same', async () => {
    const stage = await furnished(conformance);
    const [small, little] = [stage.jobs(), stage.jobs({ resultBytesMax: 400 })];
    for (const body of [{ cases }, { cases, variants, includeCaseResults: true }]) {
      const ended = [];
      for (const service of [small, little]) ended.push(await service.ended((await service.start(body)).id));
      const [whole, kept] = ended.map(({ evaluationResult, result }) => evaluationResult ?? result);
      expect(whole).not.toBeNull();
      expect(kept).toEqual(whole);
    }
    const { jobs } = await small.list({ includeResult: true });
    expect(jobs.flatMap(({ result }) => result?.variants[0]?.cases.length ?? [])).toEqual([3, 3]);
    expect(jobs.flatMap(({ evaluationResult }) => evaluationResult?.cases.length ?? [])).toEqual([3, 3]);
  });

  test('an evaluation that stops at a failure reports it, and succeeds', async () => {
    const stage = await furnished(conformance);
    const service = stage.jobs();
    const { id } = await service.start({ cases: [absent, ...cases], continueOnError: false });
    expect(await service.ended(id)).toMatchObject({
      status: 'succeeded',
      requested: 4,
      casesAttempted: 1,
      casesFailed: 1,
      evaluationResult: { stoppedOnError: true, attempted: 1 },
    });
  });

  test('a large request is staged, executed, and its payload removed', async () => {
    const stage = await furnished(conformance);
    const service = stage.jobs();
    const { id } = await service.start(large);
    expect(await service.stagedBytes()).toBeGreaterThan(100_000);
    expect(await service.ended(id)).toMatchObject({ status: 'succeeded', casesSucceeded: 1 });
    expect(await service.stagedBytes()).toBe(0);
  });
}

function describeRefusals(conformance: JobsConformance): void {
  test('starting a job needs the rights to read and to write, and another space neither sees nor cancels it', async () => {
    const stage = await furnished(conformance);
    const service = stage.jobs({ concurrencyMax: 0 });
    for (const as of ['reader', 'writer', 'stranger'])
      expect(await refusalOf(service.start({ cases }, { as }))).toBe('permission_denied');
    const { id } = await service.start({ cases });
    expect((await service.get(id, 'reader')).id).toBe(id);
    expect(await refusalOf(service.get(id, 'writer'))).toBe('permission_denied');
    for (const as of ['reader', 'writer', 'stranger'])
      expect(await refusalOf(service.cancel(id, as))).toBe('permission_denied');
    expect(await refusalOf(service.get(id, 'bob'))).toBe('not_found');
    expect(await refusalOf(service.cancel(id, 'bob'))).toBe('not_found');
    expect((await service.list({ as: 'bob' })).jobs).toEqual([]);
  });

  conformance.local('a job finds nothing after its caller lost the right to read', async () => {
    const stage = await furnished(conformance);
    const { id } = await stage.jobs({ concurrencyMax: 0 }).start({ cases });
    stage.grants = stage.grants.map((grant) =>
      grant.principal === 'ada' ? { ...grant, operations: ['write'] } : grant,
    );
    const service = stage.jobs();
    await service.engine.start();
    await stage.pass(60_000);
    const job = await service.ended(id, 'reader');
    expect(job).toMatchObject({
      status: 'failed',
      failureClass: 'permission_denied',
      evaluationResult: null,
    });
    await service.engine.stop();
  });

  test('a request that is larger than the setting is refused', async () => {
    const stage = await furnished(conformance);
    const service = stage.jobs({ payloadBytesMax: 50_000 });
    expect(await refusalOf(service.start(large))).toBe('limit_exceeded');
    expect((await service.list()).jobs).toEqual([]);
  });

  test('a job of one tenant finds nothing of another', async () => {
    const stage = await furnished(conformance);
    const service = stage.jobs();
    const { id } = await service.start({ cases }, { as: 'bob' });
    const job = await service.ended(id, 'bob');
    expect(job).toMatchObject({ casesSucceeded: 0, casesFailed: 3 });
    expect(job.evaluationResult?.cases[0]?.error).toBe("Collection 'notes' does not exist.");
  });
}

function describeEnds(conformance: JobsConformance): void {
  test('a queued job is cancelled at once, with its staged payload', async () => {
    const stage = await furnished(conformance);
    const service = stage.jobs({ concurrencyMax: 0 });
    const { id } = await service.start(large);
    expect(await service.cancel(id)).toMatchObject({ status: 'cancelled', evaluationResult: null });
    expect(await service.stagedBytes()).toBe(0);
  });

  conformance.local('a running job is cancelled between two cases', async () => {
    const stage = await furnished(conformance);
    const gate = Promise.withResolvers<void>();
    const { embedder } = stage.retrieval;
    const calls: string[] = [];
    const slow: typeof embedder = {
      ...embedder,
      async embed(...given) {
        calls.push(...given[0]);
        await gate.promise;
        return embedder.embed(...given);
      },
    };
    const embeddings = { ...stage.retrieval.parts.embeddings, embedder: slow };
    const service = stage.jobs({ parts: { embeddings } });
    const vector = (id: string) =>
      caseOf(id, { request: { query: id, collections: ['notes'], embedding: {} } });
    const { id } = await service.start({ cases: [vector('fox'), vector('river')] });
    while (calls.length === 0) await stage.quiet();
    expect(await service.get(id)).toMatchObject({
      status: 'running',
      currentCaseIndex: 0,
      currentCaseName: 'case fox',
    });
    await service.cancel(id);
    gate.resolve();
    expect(await service.ended(id)).toMatchObject({ status: 'cancelled', evaluationResult: null });
    expect(calls).toHaveLength(1);
  });

  conformance.local('an overloaded store does not count as the result of a case: the job waits', async () => {
    const stage = await furnished(conformance);
    const { records } = stage.retrieval.parts;
    let isBusy = true;
    const lanes = new Proxy(records.lanes, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (name !== 'run') return member;
        return (...given: Parameters<typeof target.run>) => {
          if (isBusy) throw new ServiceError('unavailable', 'busy', { retryAfterSeconds: 5 });
          return target.run(...given);
        };
      },
    });
    const service = stage.jobs({ parts: { records: { ...records, lanes } } });
    await service.engine.start();
    const { id } = await service.start({ cases });
    await stage.quiet();
    expect(await service.get(id)).toMatchObject({ status: 'queued', casesFailed: 0 });
    isBusy = false;
    await stage.pass(6_000);
    expect(await service.ended(id)).toMatchObject({ status: 'succeeded', casesSucceeded: 2, casesFailed: 1 });
    await service.engine.stop();
  });
}

function describeRerankers(conformance: JobsConformance): void {
  const reranked = (own: object = {}) => ({
    query: 'fox',
    collections: ['notes'],
    rerank: { enabled: true, provider: 'paid', ...own },
  });
  conformance.local('a job whose caller has lost the right to run providers ranks with none', async () => {
    const stage = await furnished(conformance);
    const asked: string[] = [];
    const rerankers: Rerankers = {
      find(id) {
        asked.push(id ?? '');
        return null;
      },
    };
    const body = { cases: [{ request: reranked(), expected: [{ id: 'fox' }] }] };
    const { id } = await stage.jobs({ concurrencyMax: 0 }).start(body);
    stage.rankers = [];
    const service = stage.jobs({ parts: { rerankers } });
    await service.engine.start();
    await stage.pass(60_000);
    const job = await service.ended(id);
    expect(job).toMatchObject({ status: 'failed', failureClass: 'permission_denied' });
    expect(asked).toEqual([]);
    expect(await refusalOf(service.start(body))).toBe('permission_denied');
    await service.engine.stop();
  });

  conformance.local(
    'a provider that has no turn for the job is no result of a case: the job waits as long as it says',
    async () => {
      const stage = await furnished(conformance);
      const calls: number[] = [];
      const passing = new ProviderFailure('rate_limit', 'rate_limited', 'Too many runs have begun.', {
        isRetryable: true,
        retryAfterMs: 5_000,
        isOfGuard: true,
      });
      const rerankers: Rerankers = {
        find: () => ({
          provider: 'paid',
          inputBytesMax: () => 65_536,
          rerank({ candidates }) {
            calls.push(candidates.length);
            // The second case is refused once, then the third: as an answer, and thrown.
            if (calls.length === 2) {
              const failure = { failureClass: 'rate_limit', providerStatus: 'rate_limited' };
              return Promise.resolve({ traceId: 'trace-1', failure, passing });
            }
            if (calls.length === 4) return Promise.reject(passing);
            const items = candidates.map(({ id }, at) => ({ id, rank: at + 1, score: 1 / (at + 1) }));
            return Promise.resolve({ traceId: null, items });
          },
        }),
      };
      const service = stage.jobs({ parts: { rerankers } });
      await service.engine.start();
      const requests = [reranked(), reranked(), reranked({ fallbackOnFailure: false })];
      const { id } = await service.start({
        cases: requests.map((request) => ({ request, expected: [{ id: 'fox' }] })),
      });
      while (calls.length < 2) await stage.quiet();
      await stage.quiet();
      expect(await service.get(id)).toMatchObject({ status: 'queued', casesFailed: 0 });
      await stage.pass(4_000);
      expect(calls).toHaveLength(2);
      for (let turn = 0; turn < 2; turn += 1) await stage.pass(6_000);
      const job = await service.ended(id);
      expect(job).toMatchObject({ status: 'succeeded', casesSucceeded: 3, casesFailed: 0 });
      expect(job.evaluationResult).toMatchObject({ rerankCaseCount: 3, rerankFallbackCaseCount: 0 });
      expect(calls).toHaveLength(5);
      await service.engine.stop();
    },
  );
}
