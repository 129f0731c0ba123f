import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import {
  callTool,
  createCollection,
  endOf,
  IDENTITY,
  type McpService,
  startMcpService,
  withArticles,
  withoutTasks,
} from './service-stage.ts';
import { bodyOf, fieldsOf, TASKS, withCapabilities } from './support.ts';

/** Tasks over runs and jobs of the real service. `other` is a second instance over the same database. */
let service: McpService;
let other: McpService;

beforeAll(async () => {
  service = await startMcpService();
  other = await startMcpService({ folder: service.folder });
  await service.start();
  await withArticles(service);
  const vectorPolicies = [{ name: 'meaning', path: '/vectors/meaning/values', dimensions: 384 }];
  await createCollection(service, 'writer', 'manuals', { vectorPolicies });
});

afterAll(async () => {
  await other.close();
  await service.close();
});

const record = (id: string) => ({ id, partitionKey: 'p', type: 'article', metadata: {}, content: {} });
const batch = (...records: readonly object[]) => ({ collection: 'articles', records });
const START = 'svc_records_start_batch_upsert_job_v1';
const DAY = 86_400_000;
const RUN = 'svc_execution_start_run_v1';
const scope = { productId: 'papers', tenantId: 'acme' };

/** A run of an external handler: it stays queued until somebody cancels it. */
async function waitingRun(more: object = {}): Promise<Readonly<Record<string, unknown>>> {
  return callTool(service, 'writer', RUN, { handlerId: 'invoice.render', scope, ...more });
}

test('a task is created, found by any instance, and ends with the job as its result', async () => {
  const created = await callTool(service, 'writer', START, batch(record('t-1'), record('t-2')));
  expect(created).toMatchObject({
    resultType: 'task',
    status: 'working',
    pollIntervalMs: 1_000,
  });
  for (const name of ['task', 'result', 'content', 'inputRequests', 'requestState'])
    expect(created).not.toHaveProperty(name);
  // A run is kept a day after its end, and it has none yet.
  expect(created['ttlMs']).toBeGreaterThanOrEqual(DAY);
  const taskId = String(created['taskId']);
  expect((await other.ask('writer', 'tasks/get', { taskId })).result).toMatchObject({ taskId });
  const ended = await endOf(other, 'writer', taskId);
  expect(ended).toMatchObject({
    resultType: 'complete',
    status: 'completed',
    result: {
      resultType: 'complete',
      isError: false,
      structuredContent: { status: 'succeeded', succeeded: 2 },
    },
  });
  const { createdAt, completedAt } = (ended['result'] as { structuredContent: Record<string, string> })
    .structuredContent;
  const took = Date.parse(completedAt ?? '') - Date.parse(createdAt ?? '');
  expect(ended['ttlMs']).toBe(took + DAY);
  // A task that has ended promises the same with each look, and other settings promise another time.
  expect((await service.ask('writer', 'tasks/get', { taskId })).result?.['ttlMs']).toBe(took + DAY);
  const ttlUnder = async (hours: string) => {
    const settings = { 'ExecutionRuntime:MinRetainedHours': hours };
    const again = await startMcpService({ folder: service.folder, settings });
    const { result } = await again.ask('writer', 'tasks/get', { taskId });
    await again.close();
    return result?.['ttlMs'];
  };
  expect([await ttlUnder('2'), await ttlUnder('0')]).toEqual([took + DAY / 12, null]);
});

describe('each group has its tasks', () => {
  const people = {
    scope: { graphId: 'people' },
    nodes: [
      { id: 'ada', type: 'person' },
      { id: 'bob', type: 'person' },
    ],
    edges: [{ id: 'ab', sourceId: 'ada', targetId: 'bob', predicate: 'knows' }],
  };
  const question = { query: 'Hello', collections: ['articles'], searchMode: 'lexical' };
  test.each<[name: string, given: Readonly<Record<string, unknown>>, job: object]>([
    [
      'svc_rag_start_ingestion_text_job_v1',
      { collection: 'manuals', documentId: 'kettle', partitionKey: 'p', text: 'Fill the kettle.' },
      { status: 'succeeded', textResult: { chunkCount: 1, createdCount: 1 } },
    ],
    [
      'svc_graph_start_import_job_v1',
      { collection: 'people', envelope: people },
      { status: 'succeeded', importResult: { nodeCount: 2, edgeCount: 1 } },
    ],
    [
      'svc_retrieval_start_evaluation_job_v1',
      { cases: [{ name: 'hello', request: question, expected: [{ id: 'a-0' }] }] },
      { status: 'succeeded', casesSucceeded: 1 },
    ],
    [
      'svc_providers_start_run_job_v1',
      {
        provider: 'local-deterministic-ai',
        capability: 'ai.chat',
        payload: { messages: [{ role: 'user', content: 'hello' }] },
      },
      { status: 'Succeeded', providerStatus: 'ok' },
    ],
  ])('%s', async (name, given, job) => {
    const { result } = await service.ask('writer', 'tools/list');
    const tools = result?.['tools'] as readonly { name: string; outputSchema: object }[];
    const schema = tools.find((tool) => tool.name === name)?.outputSchema ?? false;
    const created = await callTool(service, 'writer', name, given);
    expect(created, JSON.stringify(created)).toMatchObject({ resultType: 'task', status: 'working' });
    const ended = await endOf(service, 'writer', String(created['taskId']));
    expect(ended).toMatchObject({ status: 'completed', result: { isError: false, structuredContent: job } });
    const { structuredContent } = ended['result'] as { structuredContent: unknown };
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema as object);
    expect(validate(structuredContent), JSON.stringify(validate.errors)).toBe(true);
  });
});

test('the lists of a job that is too large for a result end early, and the result names the place of the whole', async () => {
  const narrow = await startMcpService({
    folder: service.folder,
    settings: { 'Mcp:ResultCharactersMax': '3000' },
  });
  const records = Array.from({ length: 40 }, (_, at) => record(`long-${at}`));
  const { taskId } = await callTool(service, 'writer', START, batch(...records));
  const whole = await endOf(service, 'writer', String(taskId));
  const cut = await endOf(narrow, 'writer', String(taskId));
  const { structuredContent: all } = whole['result'] as { structuredContent: object };
  const { structuredContent, content, _meta, isError } = cut['result'] as {
    structuredContent: object;
    content: { text: string }[];
    _meta: object;
    isError: boolean;
  };
  const { batchResult } = all as { batchResult: { items: unknown[] } };
  const { items } = (structuredContent as typeof all & { batchResult: { items: unknown[] } }).batchResult;
  expect([items.length > 0, items.length < 40, isError]).toEqual([true, true, false]);
  expect(items).toEqual(batchResult.items.slice(0, items.length));
  expect(structuredContent).toEqual({ ...all, batchResult: { ...batchResult, items } });
  expect(JSON.stringify(all).length).toBeGreaterThan(3_000);
  const [text, note] = content.map((each) => each.text);
  expect(JSON.stringify(text).length).toBeLessThanOrEqual(3_000);
  expect(JSON.parse(text ?? '')).toEqual(structuredContent);
  const { shortened, wholeAt } = JSON.parse(note ?? '') as { shortened: object[]; wholeAt: string };
  expect(shortened).toEqual([{ list: '/batchResult/items', shown: items.length, count: 40 }]);
  expect(_meta).toMatchObject({
    'svc.runtime/content': 'data',
    'svc.runtime/omitted': { omitted: [], shortened, wholeAt },
  });
  const rest = await service.call({ method: 'GET', path: wholeAt, headers: { [IDENTITY]: 'writer' } });
  expect(rest.json()).toEqual(all);
  await narrow.close();
});

test('the history of a run names its next page, and its pages are the whole', async () => {
  const { taskId } = await callTool(service, 'writer', START, batch(record('paged')));
  const ended = await endOf(service, 'writer', String(taskId));
  const { id: runId } = (ended['result'] as { structuredContent: { id: string } }).structuredContent;
  const tool = 'svc_execution_get_run_history_v1';
  const itemsOf = (answer: Readonly<Record<string, unknown>>) =>
    (answer['structuredContent'] as { readonly items: readonly unknown[] }).items;
  const all = itemsOf(await callTool(service, 'writer', tool, { runId }));
  expect(all.length).toBeGreaterThan(2);
  const seen: unknown[] = [];
  for (let given: Readonly<Record<string, unknown>> | undefined = { limit: 2 }; given !== undefined; ) {
    const page = await callTool(service, 'writer', tool, { runId, ...given });
    seen.push(...itemsOf(page));
    const content = page['content'] as readonly { text: string }[];
    given = (page['_meta'] as Readonly<Record<string, Readonly<Record<string, unknown>>>>)[
      'svc.runtime/nextPage'
    ];
    expect(content.slice(1).map(({ text }) => JSON.parse(text) as unknown)).toEqual(
      given === undefined ? [] : [{ nextPage: given }],
    );
  }
  expect(seen).toEqual(all);
});

test('a job that fails is a completed task with an error of the tool', async () => {
  const { taskId } = await callTool(service, 'writer', START, {
    collection: 'missing',
    records: [record('t-3')],
  });
  const ended = await endOf(service, 'writer', String(taskId));
  expect(ended).toMatchObject({
    status: 'completed',
    result: { isError: true, structuredContent: { status: 'failed' } },
  });
});

test('a batch that wrote nothing is a completed task with an error of the tool', async () => {
  const given = { ...batch(record('unwritten')), advanced: { preconditions: [{ ifMatch: 'none' }] } };
  const { taskId } = await callTool(service, 'writer', START, given);
  const ended = await endOf(service, 'writer', String(taskId));
  expect(ended).toMatchObject({ status: 'completed', result: { isError: true } });
  expect(JSON.stringify(ended)).toContain('Nothing was written: of the items, 0 succeeded and 1 failed');
});

test('the output of a task keeps the spelling of its numbers, with white space at any place of the message', async () => {
  const content = '{"tiny":0.10000000000000000000000,"money":1.50,"2":"b","1":"a"}';
  const written = `{"id":"spelled","partitionKey":"p","type":"article","metadata":{},"content":${content}}`;
  const params = { name: START, arguments: 'here', _meta: withCapabilities(TASKS) };
  const body = JSON.stringify(bodyOf('tools/call', params), null, 2);
  const given = `{ "records" : [\n${written} ], "collection": "articles" }`;
  const response = await service.send({
    body: Buffer.from(body.replace('"here"', given)),
    headers: { ...fieldsOf('tools/call', params), [IDENTITY]: 'writer' },
  });
  const { taskId } = response.json<{ result: { taskId: string } }>().result;
  expect(await endOf(service, 'writer', taskId)).toMatchObject({ result: { isError: false } });
  const path = '/collections/articles/records/p/spelled';
  const stored = await service.call({ method: 'GET', path, headers: { [IDENTITY]: 'writer' } });
  expect(stored.body).toContain(`"content":${content}`);
});

test('the same key gives the same task', async () => {
  const given = { ...batch(record('t-4')), idempotencyKey: 'once' };
  const [first, second] = [
    await callTool(service, 'writer', START, given),
    await callTool(other, 'writer', START, given),
  ];
  expect(second['taskId']).toBe(first['taskId']);
  const changed = await callTool(service, 'writer', START, {
    ...batch(record('t-5')),
    idempotencyKey: 'once',
  });
  expect(changed).toMatchObject({ isError: true });
});

test('a cancellation requests the end, and has no effect on an ended task', async () => {
  const { taskId } = await waitingRun();
  expect(await endless(taskId)).toBe('working');
  expect((await other.ask('writer', 'tasks/cancel', { taskId })).result).toMatchObject({
    resultType: 'complete',
  });
  expect(await endOf(service, 'writer', String(taskId))).toMatchObject({ status: 'cancelled' });
  expect((await service.ask('writer', 'tasks/cancel', { taskId })).error).toBeUndefined();
  expect(await endOf(service, 'writer', String(taskId))).toMatchObject({ status: 'cancelled' });
});

async function endless(taskId: unknown): Promise<unknown> {
  return (await service.ask('writer', 'tasks/get', { taskId })).result?.['status'];
}

test('an update of a task without open requests changes nothing', async () => {
  const { taskId } = await waitingRun();
  const given = { taskId, inputResponses: { any: {} } };
  expect((await service.ask('writer', 'tasks/update', given)).result).toMatchObject({
    resultType: 'complete',
  });
  expect(await endless(taskId)).toBe('working');
});

describe('O08: without the capability', () => {
  test('a task tool is refused, and nothing is started', async () => {
    const name = START;
    const given = { ...batch(record('never')), idempotencyKey: 'never' };
    const { status, error } = await service.ask('writer', 'tools/call', {
      ...withoutTasks,
      name,
      arguments: given,
    });
    expect([status, error?.code]).toEqual([400, -32021]);
    expect(error?.data).toEqual({
      requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
    });
    const path = '/collections/articles/records/p/never';
    const { status: found } = await service.call({ method: 'GET', path, headers: { [IDENTITY]: 'writer' } });
    expect(found).toBe(404);
  });

  test('a request about a task is refused before its id is checked', async () => {
    const { status, error } = await service.ask('writer', 'tasks/get', { ...withoutTasks, taskId: 'any' });
    expect([status, error?.code]).toEqual([400, -32021]);
  });
});

test('a call that only waits is answered when the server begins to stop', async () => {
  // No wait of this service ends by time: only the stop can end the call.
  const after = (ms: number, callback: () => void) =>
    ms < 1_000 ? machine.timers.after(ms, callback) : () => undefined;
  const waiting = await startMcpService({ world: { ...machine, timers: { after } } });
  const headers = { [IDENTITY]: 'writer' };
  const body = { handlerId: 'invoice.render', scope, idempotencyKey: 'waits' };
  const run = await waiting.call({ method: 'POST', path: '/execution/runs', headers, body });
  const params = {
    name: 'svc_execution_get_run_v1',
    arguments: { runId: run.json<{ id: string }>().id, waitSeconds: 20 },
  };
  const { status, body: text } = await waiting.send({
    body: bodyOf('tools/call', params),
    headers: { ...fieldsOf('tools/call', params), ...headers },
    draining: AbortSignal.abort(),
  });
  expect([status, text]).toEqual([200, expect.stringContaining('"status":"queued"')]);
  await waiting.close();
});

test('a run starts with nothing in header fields but the method and the name of the tool', async () => {
  const given = { handlerId: 'invoice.render', pluginId: 'p', scope };
  const { status, error } = await service.ask('writer', 'tools/call', { name: RUN, arguments: given });
  expect([status, error]).toEqual([200, undefined]);
});

test('two instances answer one conversation in turns, with the same words', async () => {
  const both = [service, other] as const;
  const lists = await Promise.all(both.map((each) => each.ask('writer', 'tools/list')));
  expect(lists[1]).toEqual(lists[0]);
  const found = await Promise.all(both.map((each) => each.ask('writer', 'server/discover')));
  expect(found[1]).toEqual(found[0]);
  const first = await callTool(service, 'writer', 'svc_records_query_v1', {
    collection: 'articles',
    limit: 1,
  });
  const { continuationToken } = first['structuredContent'] as { continuationToken: string };
  const next = await callTool(other, 'writer', 'svc_records_query_v1', {
    collection: 'articles',
    limit: 1,
    continuationToken,
  });
  expect(next['isError']).toBeUndefined();
});
