import { randomUUID } from 'node:crypto';
import {
  admitProviderJob,
  type ProviderJobRequest,
} from '../../functions/groups/providers/jobs/admit-provider-job.ts';
import {
  type ProviderJobView,
  type ProviderLayers,
  providerJobView,
  providerJobViews,
} from '../../functions/groups/providers/jobs/job-view.ts';
import { providerJobs } from '../../functions/groups/providers/jobs/provider-jobs.ts';
import type { CallContext } from '../../functions/http/handler.ts';
import type { ProviderAccessOperation } from '../../functions/identity/provider-access.ts';
import { createRecordAccess, type RecordGrant } from '../../functions/identity/record-access.ts';
import type { JobFamily } from '../../functions/jobs/job-family.ts';
import { cancelling, jobPage, showing } from '../../functions/jobs/job-operations.ts';
import { openAiModel } from '../../functions/providers/live/openai-model.ts';
import type { ProviderGuard } from '../../functions/providers/provider-guard.ts';
import type { RegisteredProvider } from '../../functions/providers/registered.ts';
import { RUN_LIMITS, type RunLimits } from '../../functions/providers/rules/run-limits.ts';
import type { RunRequest } from '../../functions/providers/rules/run-request.ts';
import type { ProviderTrace } from '../../functions/providers/rules/run-result.ts';
import { localTargets, type ProviderTarget } from '../../functions/providers/rules/target.ts';
import type { CapabilityParts } from '../../functions/providers/run-capability.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { PATIENCE_MS, Stage } from '../conformance/execution-stage.ts';
import { type ExecutionInstance, executionInstance, type InstanceOptions } from './execution.ts';
import { pageTokens, UNCOUNTED } from './job-family.ts';

const ALL = ['read', 'run', 'qualify'] as const;
const [local, reranker] = localTargets as [ProviderTarget, ProviderTarget];

/** A paid chat model. It counts its requests. */
export class PaidChat {
  calls = 0;
  /** Settles before each answer. */
  gate: () => Promise<void> = () => Promise.resolve();
  /** A test may replace it. */
  answer: () => Response = () =>
    Response.json({ choices: [{ finish_reason: 'stop', message: { content: 'Hi' } }] });

  /** The provider `paid`, without limits of its own. */
  provider(stage: Stage): RegisteredProvider {
    const http = async () => {
      this.calls += 1;
      await this.gate();
      return this.answer();
    };
    const apiKey = () => Promise.resolve('sk-paid');
    const options = { baseAddress: 'https://model.test/v1', modelId: 'm', outputTokensMax: 64, apiKey };
    const guard: ProviderGuard = {
      within: (_, work) =>
        work(
          () => Promise.resolve(),
          () => undefined,
        ),
    };
    const target: ProviderTarget = {
      ...local,
      id: 'paid',
      kind: 'openai-compatible',
      isLocal: false,
      modelId: 'm',
    };
    const model = openAiModel({ ...stage.world, http }, options);
    return { target, live: { model, guard, prices: { input: null, output: null }, outputTokensMax: 64 } };
  }
}

export interface ProvidersOptions extends InstanceOptions {
  readonly providers?: readonly RegisteredProvider[];
  readonly limits?: Partial<RunLimits>;
  /** Keeps the traces in the stage unless set. */
  readonly writeTrace?: CapabilityParts['writeTrace'];
  /** The store of this instance alone, as one that dies. */
  readonly over?: RecordStore;
}

/** A deployment with provider jobs: each instance admits and shows them, and may execute them. */
export class ProvidersStage extends Stage {
  /** A space of this test alone: other tests use the same database. */
  readonly space = randomUUID();
  /** The traces that were written, by their ids: a second one with the same id is without effect. */
  readonly traces = new Map<string, ProviderTrace>();
  /** A test may change them while jobs wait. */
  grants: readonly RecordGrant<ProviderAccessOperation>[] = [
    { principal: 'ada', space: this.space, productId: null, operations: ALL },
    { principal: 'reader', space: this.space, productId: null, operations: ['read'] },
    { principal: 'bob', space: `${this.space}-other`, productId: null, operations: ALL },
  ];

  providers({
    over,
    limits,
    writeTrace,
    providers = [],
    ...options
  }: ProvidersOptions = {}): ProvidersInstance {
    const all = [{ target: local, live: null }, { target: reranker, live: null }, ...providers];
    const { world } = this;
    const now = () => createRecordAccess<ProviderAccessOperation>({ grants: this.grants });
    const access: ProviderLayers['access'] = {
      spaceOf: (...call) => now().spaceOf(...call),
      ownerOf: (caller) => now().ownerOf(caller),
      judgeRecordJob: (job) => now().judgeRecordJob(job),
    };
    const provider = (id: string) => all.find(({ target }) => target.id === id);
    const layers: ProviderLayers = {
      access,
      patience: { ...world, log: this.log, patienceMs: PATIENCE_MS },
      provider,
      capabilities: {
        world,
        store: () => Promise.resolve(over ?? this.store),
        limits: { ...RUN_LIMITS, ...limits },
        concurrentInAll: 8,
        writeTrace: writeTrace ?? ((_, trace) => this.#keepTrace(trace)),
      },
    };
    const plugin = providerJobs(layers);
    const jobs = [plugin];
    const engine =
      over === undefined
        ? this.instance({ ...options, jobs })
        : executionInstance(over, { world, scope: this.scope, node: 99, ...options, jobs });
    return new ProvidersInstance(this, engine, {
      ...layers,
      jobs: engine.jobs,
      plugin,
      pageTokens: pageTokens(this.space),
    });
  }

  #keepTrace(trace: ProviderTrace): Promise<void> {
    if (!this.traces.has(trace.id)) this.traces.set(trace.id, trace);
    return Promise.resolve();
  }
}

interface Call {
  readonly as?: string;
  readonly key?: string;
  readonly provider?: string;
  readonly query?: ProviderJobRequest['query'];
}

export const HELLO: RunRequest = {
  capability: 'ai.chat',
  payload: { messages: [{ role: 'user', content: 'hello' }] },
};

export class ProvidersInstance {
  readonly #stage: ProvidersStage;
  readonly #own: JobFamily<ProviderLayers>;
  readonly #views: ReturnType<typeof providerJobViews>;
  readonly engine: ExecutionInstance;

  constructor(stage: ProvidersStage, engine: ExecutionInstance, own: JobFamily<ProviderLayers>) {
    this.#stage = stage;
    this.#own = own;
    this.#views = providerJobViews(own);
    this.engine = engine;
  }

  async start(body: ProviderJobRequest['body'] = HELLO, call: Call = {}): Promise<ProviderJobView> {
    const { as = 'ada', key = null, provider = local.id, query = {} } = call;
    const { run, replayed } = await admitProviderJob(this.#own, {
      operationId: 'startProviderRunJob',
      caller: callerOf(as),
      query,
      provider,
      body,
      idempotencyKey: key,
      correlationId: 'of-the-call',
    });
    return providerJobView(run, null, replayed);
  }

  async get(id: string, as = 'ada'): Promise<ProviderJobView> {
    return (await showing(this.#own, this.#views)({ params: { jobId: id } }, this.#call(as))).body;
  }

  async list({
    as = 'ada',
    limit = 50,
    provider = null as string | null,
    after = null as string | null,
    includeResult = false,
  } = {}) {
    const caller = callerOf(as);
    const space = this.#own.access.spaceOf(caller, 'read');
    const request = { caller, space, subject: provider, limit, after, includeResult };
    const page = await jobPage(this.#own, this.#views, request, UNCOUNTED);
    return {
      jobs: page.jobs.map((run, at) => providerJobView(run, page.results[at] ?? null)),
      next: page.next,
    };
  }

  async cancel(id: string, as = 'ada'): Promise<ProviderJobView> {
    return (await cancelling(this.#own, this.#views)({ params: { jobId: id } }, this.#call(as))).body;
  }

  #call(as: string): CallContext {
    const { signal } = new AbortController();
    return { caller: callerOf(as), correlationId: 'of-the-call', now: this.#stage.time.now, signal };
  }

  /** The ended job; fails if it does not end in time. */
  async ended(id: string): Promise<ProviderJobView> {
    for (let turn = 0; turn < 2_000; turn += 1) {
      await this.#stage.quiet();
      const job = await this.get(id);
      if (job.completedAt !== null) return job;
    }
    throw new Error('the job does not end');
  }
}

function callerOf(principal: string) {
  return { kind: 'workload', principal } as const;
}
