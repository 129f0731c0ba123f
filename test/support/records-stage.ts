import { randomUUID } from 'node:crypto';
import { operations as collectionOperations } from '../../contracts/generated/operations/collections.ts';
import { operations as graphOperations } from '../../contracts/generated/operations/graph.ts';
import { operations as recordOperations } from '../../contracts/generated/operations/records.ts';
import { loadValidators } from '../../contracts/generated/validators/load.ts';
import type { BlobStore } from '../../functions/blobs/port.ts';
import { createRecordParts, type RecordParts } from '../../functions/collections/parts.ts';
import { StagedPayloads } from '../../functions/collections/staged-payloads.ts';
import { collectionJobs } from '../../functions/groups/collections/collection-jobs.ts';
import { collectionsHandlers } from '../../functions/groups/collections/handlers.ts';
import { graphHandlers } from '../../functions/groups/graph/handlers.ts';
import { graphJobs } from '../../functions/groups/graph/jobs/graph-jobs.ts';
import { recordsHandlers } from '../../functions/groups/records/handlers.ts';
import { recordJobs } from '../../functions/groups/records/library/record-jobs.ts';
import { createChain } from '../../functions/http/chain.ts';
import { type InjectedResponse, inject } from '../../functions/http/host-inject.ts';
import type { Chain } from '../../functions/http/message.ts';
import type { Caller } from '../../functions/identity/caller.ts';
import { createExecutionAccess, type ExecutionGrant } from '../../functions/identity/execution-access.ts';
import {
  createRecordAccess,
  type RecordAccess,
  type RecordGrant,
} from '../../functions/identity/record-access.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { Stage } from '../conformance/execution-stage.ts';
import {
  ExecutionClient,
  type ExecutionInstance,
  executionInstance,
  type InstanceOptions,
} from './execution.ts';
import { pageTokens } from './job-family.ts';

const PRINCIPAL_HEADER = 'x-principal';
const ALL = ['read', 'write', 'delete', 'maintain'] as const;

export interface RecordsOptions extends InstanceOptions {
  readonly payloadBytesMax?: number;
  readonly spaceBytesMax?: number;
  readonly resultBytesMax?: number;
  readonly executionGrants?: readonly ExecutionGrant[];
  /** Memory that the requests of the instance may hold together; without a bound where absent. */
  readonly bytesInFlightMax?: number;
  /** The store of this instance alone. */
  readonly over?: RecordStore;
  /** The store of the run engine of this instance alone. */
  readonly engineStore?: RecordStore;
}

/** A deployment with collections and records: each instance serves their operations and may execute their jobs. */
export class RecordsStage extends Stage {
  /** A space of this test alone: other tests use the same database. */
  readonly space = randomUUID();
  /** A test may change them while jobs wait. */
  grants: readonly RecordGrant[] = [
    { principal: 'ada', space: this.space, productId: null, operations: ALL },
    { principal: 'carl', space: this.space, productId: null, operations: ALL },
    { principal: 'reader', space: this.space, productId: null, operations: ['read'] },
    { principal: 'writer', space: this.space, productId: null, operations: ['read', 'write'] },
    { principal: 'bob', space: `${this.space}-other`, productId: null, operations: ALL },
  ];

  /** An instance of which also the run engine is over a store of its own, as one that dies. */
  instanceOver(over: RecordStore, given: RecordsOptions = {}): RecordsInstance {
    return this.records({ ...given, over, engineStore: over });
  }

  records(given: RecordsOptions = {}): RecordsInstance {
    const { payloadBytesMax = 8 * 1024 * 1024, spaceBytesMax = 64 * 1024 * 1024, over, ...options } = given;
    const { world } = this;
    const open = () => Promise.resolve(over ?? this.store);
    const limits = { readsPerCallMax: 200_000, pageRecordsMax: 5_000, answerBytesMax: 32 * 1024 * 1024 };
    const records = createRecordParts({ store: open, world, limits });
    const blobs = given.blobs === undefined ? null : () => Promise.resolve(given.blobs as BlobStore);
    const payloads = new StagedPayloads(open, world, blobs, { payloadBytesMax, spaceBytesMax, setting: 'S' });
    const now = () => createRecordAccess({ grants: this.grants });
    const access: RecordAccess = {
      spaceOf: (...call) => now().spaceOf(...call),
      ownerOf: (caller) => now().ownerOf(caller),
      judgeRecordJob: (job) => now().judgeRecordJob(job),
    };
    const layers = { records, payloads, access, resultBytesMax: given.resultBytesMax ?? 262_144 };
    const plugin = recordJobs(layers);
    const graphPlugin = graphJobs(layers);
    const policyJobs = collectionJobs({ records, access });
    const jobs = [plugin, policyJobs, graphPlugin];
    const instance =
      given.engineStore === undefined
        ? this.instance({ ...options, jobs })
        : executionInstance(given.engineStore, { world, scope: this.scope, node: 99, ...options, jobs });
    const executionAccess =
      given.executionGrants === undefined ? null : createExecutionAccess(given.executionGrants);
    const own = {
      ...layers,
      jobs: instance.jobs,
      plugin,
      pageTokens: pageTokens(this.space),
      executionAccess,
    };
    const handlers = {
      ...recordsHandlers(own),
      ...collectionsHandlers(own, policyJobs),
      ...graphHandlers({ ...own, plugin: graphPlugin }),
    };
    const maintain = async (isOver = () => false) => {
      const maintenance = { runtime: instance.runtime, isOver };
      return { ...(await policyJobs.maintain?.(maintenance)), ...(await plugin.maintain?.(maintenance)) };
    };
    const chain = createChain({
      operations: { ...collectionOperations, ...recordOperations, ...graphOperations },
      handlers,
      validators: {
        collections: loadValidators.collections,
        records: loadValidators.records,
        graph: loadValidators.graph,
      },
      world,
      authenticator: {
        authenticate: async (headers): Promise<Caller> => ({
          kind: 'workload',
          principal: headers.get(PRINCIPAL_HEADER) ?? 'ada',
        }),
      },
      authorizer: { authorize: () => undefined },
      log: () => undefined,
      rateLimit: null,
      validateResponses: true,
      bytesInFlight: { perProcess: given.bytesInFlightMax ?? Infinity, perCaller: Infinity },
    });
    return new RecordsInstance({ chain, instance, records, payloads, maintain });
  }
}

interface Call {
  readonly as?: string;
  readonly body?: unknown;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface RecordsInstanceParts {
  readonly chain: Chain;
  readonly instance: ExecutionInstance;
  readonly records: RecordParts;
  readonly payloads: StagedPayloads;
  readonly maintain: (isOver?: () => boolean) => Promise<Readonly<Record<string, number>>>;
}

export class RecordsInstance {
  readonly #chain: Chain;
  readonly engine: ExecutionInstance;
  readonly execution: ExecutionClient;
  readonly records: RecordParts;
  readonly payloads: StagedPayloads;
  readonly maintain: RecordsInstanceParts['maintain'];

  constructor({ chain, instance, records, payloads, maintain }: RecordsInstanceParts) {
    this.#chain = chain;
    this.engine = instance;
    this.execution = new ExecutionClient(instance);
    this.records = records;
    this.payloads = payloads;
    this.maintain = maintain;
  }

  call(
    method: string,
    path: string,
    { as = 'ada', body, key, headers }: Call = {},
  ): Promise<InjectedResponse> {
    const sent = {
      [PRINCIPAL_HEADER]: as,
      ...(key === undefined ? {} : { 'Idempotency-Key': key }),
      ...headers,
    };
    return inject(this.#chain, { method, path, headers: sent, ...(body === undefined ? {} : { body }) });
  }

  async answer<Body>(method: string, path: string, call: Call = {}, status = 200): Promise<Body> {
    const answer = await this.call(method, path, call);
    if (answer.status !== status) throw new Error(`answered ${answer.status}: ${answer.body}`);
    return answer.json<Body>();
  }

  /** How many records a reader of the collection sees. */
  async count(collection: string): Promise<number | null> {
    const path = `/collections/${collection}/export`;
    const answer = await this.call('GET', path);
    return answer.status === 404 ? null : answer.json<{ recordCount: number }>().recordCount;
  }
}

/** Records `r0`, `r1` … of one partition. */
export function recordsOf(count: number, more: object = {}) {
  return Array.from({ length: count }, (_, index) => ({
    id: `r${index}`,
    partitionKey: 'p',
    type: 'note',
    metadata: { index },
    ...more,
  }));
}
