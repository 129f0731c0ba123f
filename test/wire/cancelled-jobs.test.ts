import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stagedBytesKey, UPKEEP_SCOPE } from '../../functions/collections/upkeep-collections.ts';
import { DEFAULT_SPACE } from '../../functions/identity/record-access.ts';
import type { JobContext, JobPlugin } from '../../functions/jobs/job-plugin.ts';
import { RunFailure } from '../../functions/runs/plugin.ts';
import { EXECUTION_SCOPE } from '../../functions/runs/records.ts';
import { type RecordStore, StoreError } from '../../functions/store/port.ts';
import { type ExecutionInstance, executionInstance } from '../support/execution.ts';
import { builtInJobs, type RunningService, startService } from '../support/service.ts';

/** When a cancellation discards the staged request of a job, in every family of jobs (decision 0038). */

/** Admits and cancels jobs, and executes none. */
let service: RunningService;
let store: RecordStore;
/** Whether the store refuses the service to change what is staged. */
let refusesUpkeep = false;
let plugins: readonly JobPlugin[];
/** Executes the jobs by `work` instead of their own code, which would read the request and discard it. */
let worker: ExecutionInstance;
let work: (context: JobContext) => Promise<undefined>;
beforeAll(async () => {
  service = await startService({
    role: 'maintenance',
    settings: { 'Server:LogLevel': 'warning' },
    watchStore: refusing,
  });
  const vectorPolicies = [
    { name: 'contentEmbedding', path: '/vectors/contentEmbedding/values', dimensions: 384 },
  ];
  const admitted = await service.call({
    method: 'POST',
    path: '/collections',
    body: { name: 'c', vectorPolicies },
  });
  expect(admitted.status, admitted.body).toBe(202);
  plugins = await builtInJobs(service);
  const jobs = plugins.map((plugin) => ({
    ...plugin,
    handlers: plugin.handlers.map((handler) => ({
      ...handler,
      run: (context: JobContext) => work(context),
    })),
  }));
  worker = executionInstance(store, { scope: EXECUTION_SCOPE, jobs });
});
afterAll(async () => {
  await worker.stop();
  await service.close();
});

/** The store, whose staged payloads the service cannot change while `refusesUpkeep`. */
function refusing(opened: RecordStore): RecordStore {
  store = opened;
  return new Proxy(opened, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]): unknown => {
        if (refusesUpkeep && name === 'transact' && given[0] === UPKEEP_SCOPE)
          return Promise.reject(new StoreError('unavailable', 'the store is away'));
        return Reflect.apply(member, target, given);
      };
    },
  });
}

const LONG = 'A river in spring. '.repeat(5_000);
const records = [{ id: 'a', partitionKey: 'p', content: { text: LONG } }];
const cases = Array.from({ length: 80 }, () => ({
  request: { query: LONG.slice(0, 1_000), collections: ['c'], searchMode: 'lexical' },
  expected: [{ id: 'a' }],
}));

/** A request of each family that is too large for a run. */
const requests: Readonly<Record<string, { readonly path: string; readonly body: object }>> = {
  'record-import': { path: '/collections/c/records/batch/jobs', body: { records } },
  graph: {
    path: '/collections/c/graph/import',
    body: {
      envelope: {
        schema: 'svc.graph.v1',
        scope: {},
        nodes: Array.from({ length: 900 }, (_, at) => ({ id: `${'n'.repeat(60)}-${at}`, type: 'x' })),
      },
      allowNonGraphPolicy: true,
    },
  },
  'rag-ingestion': {
    path: '/collections/c/rag/ingest-text',
    body: { documentId: 'd', partitionKey: 'p', text: LONG },
  },
  'retrieval-evaluation': { path: '/retrieval/evaluate/jobs', body: { cases } },
  embedding: {
    path: '/embeddings/jobs',
    body: { texts: Array.from({ length: 90 }, (_, at) => `${at} ${LONG.slice(0, 1_000)}`) },
  },
};

/** Families whose requests always fit in their run, or whose jobs callers cancel as runs. */
const UNSTAGED = ['artifact-record-ingestion', 'collection-management', 'object-upkeep', 'provider-run'];

async function staged(): Promise<number> {
  const keys = [{ key: stagedBytesKey(DEFAULT_SPACE) }];
  const { records: found } = await store.query(UPKEEP_SCOPE, { by: 'keys', keys });
  return Number(found[0]?.head['bytes'] ?? 0);
}

interface Shown {
  readonly id: string;
  readonly status: string;
}

describe.each(Object.entries(requests))('a job of the family %s', (family, request) => {
  async function admitted(): Promise<string> {
    expect(await staged()).toBe(0);
    const answer = await service.call({ method: 'POST', ...request });
    expect(answer.status, answer.body).toBe(202);
    expect(await staged()).toBeGreaterThan(64 * 1024);
    return answer.json<Shown>().id;
  }

  async function cancelled(id: string): Promise<string> {
    const { statusPath } = plugins.find((plugin) => plugin.family === family) as JobPlugin;
    const answer = await service.call({ method: 'DELETE', path: `${statusPath}/${id}` });
    expect(answer.status, answer.body).toBe(200);
    return answer.json<Shown>().status;
  }

  async function executed(id: string): Promise<void> {
    expect(await worker.engine.deliver(id)).not.toBe('nothing');
  }

  test('has no staged request once it is cancelled before its first attempt', async () => {
    const id = await admitted();
    expect(await cancelled(id)).toBe('cancelled');
    expect(await staged()).toBe(0);
  });

  test('has none once it is cancelled while it waits after an attempt', async () => {
    const id = await admitted();
    work = async (context) => {
      await context.waitForTimer('later', new Date(Date.now() + 3_600_000));
      return undefined;
    };
    await executed(id);
    expect(await staged()).toBeGreaterThan(0);
    expect(await cancelled(id)).toBe('cancelled');
    expect(await staged()).toBe(0);
  });

  test('keeps it while an attempt may read it, and has none once it is cancelled after its end', async () => {
    const id = await admitted();
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    work = async () => {
      begun.resolve();
      await gate.promise;
      throw new RunFailure('test', 'The attempt has failed.');
    };
    const attempt = executed(id);
    await begun.promise;
    expect(await cancelled(id)).toBe('running');
    expect(await staged()).toBeGreaterThan(0);
    gate.resolve();
    await attempt;
    expect(await staged()).toBeGreaterThan(0);
    expect(['cancelled', 'failed']).toContain(await cancelled(id));
    expect(await staged()).toBe(0);
  });

  test('is cancelled also when its staged request cannot be removed', async () => {
    const id = await admitted();
    service.lines.length = 0;
    refusesUpkeep = true;
    const status = await cancelled(id).finally(() => (refusesUpkeep = false));
    expect(status).toBe('cancelled');
    expect(await staged()).toBeGreaterThan(0);
    expect(service.lines.join('\n')).toContain('The payload of a cancelled job could not be removed');
    expect(await cancelled(id)).toBe('cancelled');
    expect(await staged()).toBe(0);
  });

  test('is executed in one attempt, so a refusal ends it and its request is not read again', () => {
    const plugin = plugins.find((each) => each.family === family);
    expect(plugin?.handlers.map(({ maxAttempts = 1 }) => maxAttempts)).toEqual(plugin?.handlers.map(() => 1));
  });
});

test('no family of jobs is left out', () => {
  expect(plugins.map(({ family }) => family).sort()).toEqual([...Object.keys(requests), ...UNSTAGED].sort());
});
