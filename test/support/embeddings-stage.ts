import { randomUUID } from 'node:crypto';
import { createRecordParts } from '../../functions/collections/parts.ts';
import { StagedPayloads } from '../../functions/collections/staged-payloads.ts';
import { stagedBytesKey, UPKEEP_SCOPE } from '../../functions/collections/upkeep-collections.ts';
import { builtInEmbedder } from '../../functions/embeddings/built-in.ts';
import type { Embedder } from '../../functions/embeddings/embedder.ts';
import type { EmbeddingRequest } from '../../functions/embeddings/rules/request.ts';
import { createEmbeddingParts } from '../../functions/embeddings/text-vectors.ts';
import { admitEmbeddingJob } from '../../functions/groups/embeddings/jobs/admit-embedding-job.ts';
import { embeddingJobs } from '../../functions/groups/embeddings/jobs/embedding-jobs.ts';
import {
  type EmbeddingJobView,
  type EmbeddingLayers,
  embeddingJobView,
  embeddingJobViews,
  embeddingResults,
} from '../../functions/groups/embeddings/jobs/job-view.ts';
import { createRecordAccess, type RecordGrant } from '../../functions/identity/record-access.ts';
import type { JobFamily, ProductTenant } from '../../functions/jobs/job-family.ts';
import { jobPage } from '../../functions/jobs/job-operations.ts';
import { cancelStagedJob, getJob } from '../../functions/jobs/read-jobs.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { PATIENCE_MS, Stage } from '../conformance/execution-stage.ts';
import { limits } from '../conformance/records-stage.ts';
import { type ExecutionInstance, executionInstance, type InstanceOptions } from './execution.ts';
import { pageTokens, UNCOUNTED } from './job-family.ts';

const ALL = ['read', 'write', 'delete'] as const;

export interface EmbeddingsOptions extends InstanceOptions {
  readonly embedder?: Embedder;
  readonly payloadBytesMax?: number;
  readonly spaceBytesMax?: number;
  readonly resultBytesMax?: number;
  /** The store of this instance alone, as one that dies. */
  readonly over?: RecordStore;
}

/** A deployment with embedding jobs: each instance admits and shows them, and may execute them. */
export class EmbeddingsStage extends Stage {
  /** A space of this test alone: other tests use the same database. */
  readonly space = randomUUID();
  /** A test may change them while jobs wait. */
  grants: readonly RecordGrant[] = [
    { principal: 'ada', space: this.space, productId: null, operations: ALL },
    { principal: 'reader', space: this.space, productId: null, operations: ['read'] },
    { principal: 'bob', space: `${this.space}-other`, productId: null, operations: ALL },
  ];

  embeddings(given: EmbeddingsOptions = {}): EmbeddingsInstance {
    const { payloadBytesMax = 8 * 1024 * 1024, spaceBytesMax = 64 * 1024 * 1024, over, ...options } = given;
    const { world } = this;
    const store = () => Promise.resolve(over ?? this.store);
    const payloads = new StagedPayloads(store, world, null, { payloadBytesMax, spaceBytesMax, setting: 'S' });
    const embedder = given.embedder ?? builtInEmbedder('deterministic-hash', 4);
    if (embedder === null) throw new Error('the model is part of the service');
    const now = () => createRecordAccess({ grants: this.grants });
    const access: EmbeddingLayers['access'] = {
      spaceOf: (...call) => now().spaceOf(...call),
      ownerOf: (caller) => now().ownerOf(caller),
      judgeRecordJob: (job) => now().judgeRecordJob(job),
    };
    const resultBytesMax = given.resultBytesMax ?? 262_144;
    const layers = {
      records: createRecordParts({ store, world, limits }),
      embeddings: createEmbeddingParts({ store, embedder }),
      patience: { ...world, log: this.log, patienceMs: PATIENCE_MS },
      payloads,
      access,
      resultBytesMax,
    };
    const plugin = embeddingJobs(layers);
    const jobs = [plugin];
    const engine =
      over === undefined
        ? this.instance({ ...options, jobs })
        : executionInstance(over, { world, scope: this.scope, node: 99, ...options, jobs });
    return new EmbeddingsInstance(this, engine, {
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

export class EmbeddingsInstance {
  readonly #stage: EmbeddingsStage;
  readonly #own: JobFamily<EmbeddingLayers>;
  readonly engine: ExecutionInstance;
  readonly payloads: StagedPayloads;

  constructor(stage: EmbeddingsStage, engine: ExecutionInstance, own: JobFamily<EmbeddingLayers>) {
    this.#stage = stage;
    this.#own = own;
    this.engine = engine;
    this.payloads = own.payloads;
  }

  async start(body: EmbeddingRequest, { as = 'ada', key, query = {} }: Call = {}): Promise<EmbeddingJobView> {
    const caller = callerOf(as);
    const call = { caller, query, idempotencyKey: key ?? null, correlationId: 'test' };
    const { run, replayed } = await admitEmbeddingJob(this.#own, call, body);
    return embeddingJobView(run, null, replayed);
  }

  async get(id: string, as = 'ada'): Promise<EmbeddingJobView> {
    const { jobs, plugin, access } = this.#own;
    const run = await getJob(jobs, { plugin, space: access.spaceOf(callerOf(as), 'read') }, id);
    const [result = null] = await embeddingResults(jobs, [run]);
    return embeddingJobView(run, result);
  }

  async list({ as = 'ada', limit = 50, includeResult = false, after = null as string | null } = {}) {
    const space = this.#own.access.spaceOf(callerOf(as), 'read');
    const request = { caller: callerOf(as), space, subject: null, limit, after, includeResult };
    const page = await jobPage(this.#own, embeddingJobViews(this.#own), request, UNCOUNTED);
    return {
      jobs: page.jobs.map((run, index) => embeddingJobView(run, page.results[index] ?? null)),
      next: page.next,
    };
  }

  async cancel(id: string, as = 'ada'): Promise<EmbeddingJobView> {
    const { plugin, access } = this.#own;
    const place = { plugin, space: access.spaceOf(callerOf(as), 'write') };
    return embeddingJobView(await cancelStagedJob(this.#own, place, id, this.#stage.time.now));
  }

  /** Bytes that the jobs of ada's space have staged. */
  async stagedBytes(): Promise<number> {
    const keys = [{ key: stagedBytesKey(this.#stage.space) }];
    const { records } = await this.#stage.store.query(UPKEEP_SCOPE, { by: 'keys', keys });
    return Number(records[0]?.head['bytes'] ?? 0);
  }

  /** The ended job; fails if it does not end in time. */
  async ended(id: string, as = 'ada'): Promise<EmbeddingJobView> {
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
