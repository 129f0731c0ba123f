import { randomUUID } from 'node:crypto';
import { StagedPayloads } from '../../functions/collections/staged-payloads.ts';
import { stagedBytesKey, UPKEEP_SCOPE } from '../../functions/collections/upkeep-collections.ts';
import {
  admitComparison,
  admitEvaluation,
} from '../../functions/groups/retrieval/jobs/admit-retrieval-job.ts';
import {
  type RetrievalJobView,
  type RetrievalLayers,
  retrievalJobView,
  retrievalJobViews,
  retrievalReports,
} from '../../functions/groups/retrieval/jobs/job-view.ts';
import { retrievalJobs } from '../../functions/groups/retrieval/jobs/retrieval-jobs.ts';
import { permissionDenied } from '../../functions/identity/grants.ts';
import { createRecordAccess, type RecordGrant } from '../../functions/identity/record-access.ts';
import type { JobFamily, ProductTenant } from '../../functions/jobs/job-family.ts';
import { jobPage } from '../../functions/jobs/job-operations.ts';
import { cancelStagedJob, getJob } from '../../functions/jobs/read-jobs.ts';
import type { RetrievalParts } from '../../functions/retrieval/parts.ts';
import type {
  ComparisonRequest,
  EvaluationRequest,
} from '../../functions/retrieval/rules/evaluation/request.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { PATIENCE_MS, Stage } from '../conformance/execution-stage.ts';
import { RetrievalStage } from '../conformance/retrieval-stage.ts';
import { type ExecutionInstance, executionInstance, type InstanceOptions } from './execution.ts';
import { pageTokens, UNCOUNTED } from './job-family.ts';

const ALL = ['read', 'write', 'delete'] as const;

export interface RetrievalJobsOptions extends InstanceOptions {
  readonly resultBytesMax?: number;
  readonly payloadBytesMax?: number;
  /** The store of the runs of this instance alone, as one that dies. */
  readonly over?: RecordStore;
  /** Replacements of single parts. */
  readonly parts?: Partial<RetrievalParts>;
}

/** A deployment with jobs that evaluate: each instance admits and shows them, and may execute them. */
export class RetrievalJobsStage extends Stage {
  /** A space of this test alone: other tests use the same database. */
  readonly space = randomUUID();
  readonly retrieval = new RetrievalStage(this.store, { space: this.space });
  /** A test may change them while jobs wait. */
  grants: readonly RecordGrant[] = [
    { principal: 'ada', space: this.space, productId: null, operations: ALL },
    { principal: 'writer', space: this.space, productId: null, operations: ['write'] },
    { principal: 'reader', space: this.space, productId: null, operations: ['read'] },
    { principal: 'bob', space: `${this.space}-other`, productId: null, operations: ALL },
  ];

  /** Who may have a provider rank. A test may change them too. */
  rankers: readonly string[] = ['ada'];

  /** Three notes, of which two hold the word of a case. */
  async furnish(): Promise<void> {
    await this.retrieval.create('notes');
    await this.retrieval.write('notes', [
      { id: 'fox', text: 'the brown fox runs', title: 'Fox' },
      { id: 'river', text: 'a river and its bank', title: 'River' },
      { id: 'both', text: 'the fox at the river', title: 'Fox and river' },
    ]);
  }

  jobs(given: RetrievalJobsOptions = {}): RetrievalJobsInstance {
    const { payloadBytesMax = 8 * 1024 * 1024, resultBytesMax = 262_144, over, parts, ...options } = given;
    const { world } = this;
    const store = () => Promise.resolve(over ?? this.store);
    const spaceBytesMax = 8 * payloadBytesMax;
    const payloads = new StagedPayloads(store, world, null, { payloadBytesMax, spaceBytesMax, setting: 'S' });
    const now = () => createRecordAccess({ grants: this.grants });
    const access: RetrievalLayers['access'] = {
      spaceOf: (...call) => now().spaceOf(...call),
      ownerOf: (caller) => now().ownerOf(caller),
      judgeRecordJob: (job) => now().judgeRecordJob(job),
    };
    const retrieval = { ...this.retrieval.parts, ...parts };
    const rerankAccess: RetrievalLayers['rerankAccess'] = {
      judgeRecordJob: ({ caller: { principal } }) => {
        if (!this.rankers.includes(principal ?? '')) throw permissionDenied();
      },
    };
    const patience = { ...world, log: this.log, patienceMs: PATIENCE_MS };
    const layers = { retrieval, patience, payloads, access, rerankAccess, resultBytesMax };
    const plugin = retrievalJobs(layers);
    const engine =
      over === undefined
        ? this.instance({ ...options, jobs: [plugin] })
        : executionInstance(over, { world, scope: this.scope, node: 99, ...options, jobs: [plugin] });
    return new RetrievalJobsInstance(this, engine, {
      ...layers,
      jobs: engine.jobs,
      plugin,
      pageTokens: pageTokens(this.space),
    });
  }
}

interface Call {
  readonly as?: string;
  readonly key?: string;
  readonly query?: ProductTenant;
}

export class RetrievalJobsInstance {
  readonly #stage: RetrievalJobsStage;
  readonly #own: JobFamily<RetrievalLayers>;
  readonly engine: ExecutionInstance;

  constructor(stage: RetrievalJobsStage, engine: ExecutionInstance, own: JobFamily<RetrievalLayers>) {
    this.#stage = stage;
    this.#own = own;
    this.engine = engine;
  }

  async start(
    body: EvaluationRequest | ComparisonRequest,
    { as = 'ada', key, query = {} }: Call = {},
  ): Promise<RetrievalJobView> {
    const request = {
      caller: callerOf(as),
      query,
      idempotencyKey: key ?? null,
      correlationId: 'test',
    };
    const { run, replayed } = await ('variants' in body
      ? admitComparison(this.#own, request, body)
      : admitEvaluation(this.#own, request, body));
    return retrievalJobView(run, null, replayed);
  }

  async get(id: string, as = 'ada'): Promise<RetrievalJobView> {
    const { jobs, plugin, access } = this.#own;
    const run = await getJob(jobs, { plugin, space: access.spaceOf(callerOf(as), 'read') }, id);
    const [report = null] = await retrievalReports(jobs, [run]);
    return retrievalJobView(run, report);
  }

  async list({ as = 'ada', limit = 20, includeResult = false, after = null as string | null } = {}) {
    const space = this.#own.access.spaceOf(callerOf(as), 'read');
    const request = { caller: callerOf(as), space, subject: null, limit, after, includeResult };
    const page = await jobPage(this.#own, retrievalJobViews(this.#own), request, UNCOUNTED);
    return {
      jobs: page.jobs.map((run, index) => retrievalJobView(run, page.results[index] ?? null)),
      next: page.next,
    };
  }

  async cancel(id: string, as = 'ada'): Promise<RetrievalJobView> {
    const { plugin, access } = this.#own;
    const place = { plugin, space: access.spaceOf(callerOf(as), 'delete') };
    return retrievalJobView(await cancelStagedJob(this.#own, place, id, this.#stage.time.now));
  }

  /** Bytes that the jobs of ada's space have staged. */
  async stagedBytes(): Promise<number> {
    const keys = [{ key: stagedBytesKey(this.#stage.space) }];
    const { records } = await this.#stage.store.query(UPKEEP_SCOPE, { by: 'keys', keys });
    return Number(records[0]?.head['bytes'] ?? 0);
  }

  /** The ended job; fails if it does not end in time. */
  async ended(id: string, as = 'ada'): Promise<RetrievalJobView> {
    for (let turn = 0; turn < 2_000; turn += 1) {
      await this.#stage.quiet();
      const job = await this.get(id, as);
      if (job.status !== 'queued' && job.status !== 'running') return job;
    }
    throw new Error('the job does not end');
  }
}

function callerOf(principal: string) {
  return { kind: 'workload', principal } as const;
}
