import { randomUUID } from 'node:crypto';
import { createRecordParts, type RecordParts } from '../../functions/collections/parts.ts';
import { createCollection } from '../../functions/collections/pointers.ts';
import { queryRecords } from '../../functions/collections/query-records.ts';
import { readPolicy } from '../../functions/collections/rules/policy.ts';
import type { RecordValue } from '../../functions/collections/rules/record-key.ts';
import { StagedPayloads } from '../../functions/collections/staged-payloads.ts';
import { stagedBytesKey, UPKEEP_SCOPE } from '../../functions/collections/upkeep-collections.ts';
import { builtInEmbedder } from '../../functions/embeddings/built-in.ts';
import type { Embedder } from '../../functions/embeddings/embedder.ts';
import { createEmbeddingParts } from '../../functions/embeddings/text-vectors.ts';
import { admitRagJob } from '../../functions/groups/rag/jobs/admit-rag-job.ts';
import { type RagLayers, ragJobView, ragResults } from '../../functions/groups/rag/jobs/job-view.ts';
import { ragJobs } from '../../functions/groups/rag/jobs/rag-jobs.ts';
import type { ProviderAccessOperation } from '../../functions/identity/provider-access.ts';
import { createRecordAccess, type RecordGrant } from '../../functions/identity/record-access.ts';
import type { JobFamily } from '../../functions/jobs/job-family.ts';
import { cancelStagedJob, getJob } from '../../functions/jobs/read-jobs.ts';
import type { IngestRequest } from '../../functions/rag/rules/ingest-request.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { createTraceParts, type TraceParts } from '../../functions/traces/parts.ts';
import { PATIENCE_MS, Stage } from '../conformance/execution-stage.ts';
import { limits } from '../conformance/records-stage.ts';
import { type ExecutionInstance, executionInstance, type InstanceOptions } from './execution.ts';
import { pageTokens } from './job-family.ts';

const ALL = ['read', 'write', 'delete'] as const;
const POLICY = { name: 'notes', vectorPolicies: [{ name: 'v', path: '/vectors/v/values', dimensions: 8 }] };

/** A document of sentences, one a chunk where chunks have 30 characters. */
export const sentences = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => `Sentence ${from + at} stands here.`).join(' ');
export const SHAPE = { chunkChars: 30, chunkOverlapChars: 0 };

export interface RagOptions extends InstanceOptions {
  readonly embedder?: Embedder;
  readonly payloadBytesMax?: number;
  readonly resultBytesMax?: number;
  /** The store of this instance alone, as one that dies. */
  readonly over?: RecordStore;
}

/** A deployment with ingestion jobs: each instance admits and shows them, and may execute them. */
export class RagStage extends Stage {
  /** A space of this test alone: other tests use the same database. */
  readonly space = randomUUID();
  /** A test may change them while jobs wait. */
  grants: readonly RecordGrant[] = [
    { principal: 'ada', space: this.space, productId: null, operations: ALL },
    { principal: 'writer', space: this.space, productId: null, operations: ['write'] },
    { principal: 'reader', space: this.space, productId: null, operations: ['read'] },
    { principal: 'bob', space: `${this.space}-other`, productId: null, operations: ALL },
  ];

  partsOver(store: RecordStore): RecordParts {
    return createRecordParts({ store: () => Promise.resolve(store), world: this.world, limits });
  }

  async begin(): Promise<this> {
    await createCollection(this.partsOver(this.store), this.space, readPolicy(POLICY));
    return this;
  }

  rag(given: RagOptions = {}): RagInstance {
    const { payloadBytesMax = 8 * 1024 * 1024, resultBytesMax = 262_144, over, ...options } = given;
    const { world } = this;
    const own = over ?? this.store;
    const store = () => Promise.resolve(own);
    const spaceBytesMax = 8 * payloadBytesMax;
    const payloads = new StagedPayloads(store, world, null, { payloadBytesMax, spaceBytesMax, setting: 'S' });
    const embedder = given.embedder ?? builtInEmbedder('deterministic-hash', 8);
    if (embedder === null) throw new Error('the model is part of the service');
    const now = () => createRecordAccess({ grants: this.grants });
    const access: RagLayers['access'] = {
      spaceOf: (...call) => now().spaceOf(...call),
      ownerOf: (caller) => now().ownerOf(caller),
      judgeRecordJob: (job) => now().judgeRecordJob(job),
    };
    const records = this.partsOver(own);
    const searched = {
      records,
      embeddings: createEmbeddingParts({ store, embedder }),
      traces: tracesOver(own, world),
      patience: { ...world, log: this.log, patienceMs: PATIENCE_MS },
    };
    const rerankAccess = createRecordAccess<ProviderAccessOperation>({ grants: [] });
    const retrieval = { ...searched, rerankers: { find: () => null } };
    const layers = { ...searched, retrieval, rerankAccess, payloads, access, resultBytesMax };
    const plugin = ragJobs(layers);
    const jobs = [plugin];
    const engine =
      over === undefined
        ? this.instance({ ...options, jobs })
        : executionInstance(over, { world, scope: this.scope, node: 99, ...options, jobs });
    return new RagInstance(this, engine, {
      ...layers,
      jobs: engine.jobs,
      plugin,
      pageTokens: pageTokens(this.space),
    });
  }

  /** The records of the collection without their times, in the order of their keys. */
  async records(): Promise<readonly RecordValue[]> {
    const { records } = await queryRecords(this.partsOver(this.store), this.space, 'notes', {});
    return records.map((text) => {
      const { createdAt: _, updatedAt: __, vectors, ...record } = JSON.parse(text) as RecordValue;
      return { ...record, vectors: vectors !== null };
    });
  }

  async texts(): Promise<readonly string[]> {
    const chunks = (await this.records()).filter(({ type }) => type === 'rag.chunk');
    return chunks.map(({ content }) => (content as { readonly text: string }).text).sort();
  }
}

function tracesOver(store: RecordStore, world: Stage['world']): TraceParts {
  return createTraceParts({
    store: () => Promise.resolve(store),
    world,
    limits: { readsPerCallMax: 1_000, answerBytesMax: 10_000_000, retentionMs: null },
  });
}

interface Call {
  readonly as?: string;
  readonly key?: string;
}

export type RagJob = ReturnType<typeof ragJobView>;

export class RagInstance {
  readonly #stage: RagStage;
  readonly #own: JobFamily<RagLayers>;
  readonly engine: ExecutionInstance;
  readonly payloads: StagedPayloads;

  constructor(stage: RagStage, engine: ExecutionInstance, own: JobFamily<RagLayers>) {
    this.#stage = stage;
    this.#own = own;
    this.engine = engine;
    this.payloads = own.payloads;
  }

  /** One document, or several as a batch. */
  async start(given: object | readonly object[], { as = 'ada', key }: Call = {}): Promise<RagJob> {
    const documents = (Array.isArray(given) ? given : [given]).map((each: object) => ({
      partitionKey: 'p',
      ...each,
    }));
    const isBatch = Array.isArray(given);
    const body = isBatch ? { items: documents, continueOnError: true } : documents[0];
    const request = {
      operationId: isBatch ? 'ingestRagTextBatch' : 'ingestRagText',
      caller: callerOf(as),
      query: {},
      collection: 'notes',
      text: JSON.stringify(body),
      idempotencyKey: key ?? null,
      correlationId: 'test',
    };
    const items = documents as unknown as readonly IngestRequest[];
    const { run, replayed } = await admitRagJob(
      this.#own,
      request,
      isBatch ? { kind: 'batch', items } : { kind: 'text', document: items[0]! },
    );
    return ragJobView(run, null, replayed);
  }

  async get(id: string, as = 'ada'): Promise<RagJob> {
    const { jobs, plugin, access } = this.#own;
    const run = await getJob(jobs, { plugin, space: access.spaceOf(callerOf(as), 'read') }, id);
    const [result = null] = await ragResults(jobs, [run]);
    return ragJobView(run, result);
  }

  async cancel(id: string, as = 'ada'): Promise<RagJob> {
    const place = { plugin: this.#own.plugin, space: this.#own.access.spaceOf(callerOf(as), 'delete') };
    return ragJobView(await cancelStagedJob(this.#own, place, id, this.#stage.time.now));
  }

  /** Bytes that the jobs of ada's space have staged. */
  async stagedBytes(): Promise<number> {
    const keys = [{ key: stagedBytesKey(this.#stage.space) }];
    const { records } = await this.#stage.store.query(UPKEEP_SCOPE, { by: 'keys', keys });
    return Number(records[0]?.head['bytes'] ?? 0);
  }

  /** The ended job; fails if it does not end in time. */
  async ended(id: string, as = 'ada'): Promise<RagJob> {
    for (let turn = 0; turn < 2_000; turn += 1) {
      await this.#stage.quiet();
      const job = await this.get(id, as);
      if (job.status !== 'queued' && job.status !== 'running') return job;
      this.#stage.time.advance(100);
    }
    throw new Error('the job does not end');
  }

  async ingest(given: object | readonly object[], call: Call = {}): Promise<RagJob> {
    return this.ended((await this.start(given, call)).id);
  }
}

function callerOf(principal: string) {
  return { kind: 'workload', principal } as const;
}
