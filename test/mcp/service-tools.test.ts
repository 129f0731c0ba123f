import { Socket } from 'node:net';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import found from '../../contracts/generated/mcp/definitions.json' with { type: 'json' };
import { shownAnswer } from '../../functions/mcp/service/mapped-answer.ts';
import type { ToolMap } from '../../functions/mcp/service/tool-map.ts';
import {
  callTool,
  IDENTITY,
  type McpService,
  namesOf,
  startMcpService,
  taskOperations,
  withArticles,
} from './service-stage.ts';

let service: McpService;

beforeAll(async () => {
  service = await startMcpService({ settings: { 'Mcp:ResultCharactersMax': '2000' } });
  await withArticles(service);
});

afterAll(() => service.close());

/** Waits until the job at the path has succeeded. */
async function ended(path: string): Promise<void> {
  for (;;) {
    const answer = await service.call({ method: 'GET', path, headers: { [IDENTITY]: 'writer' } });
    const { status } = answer.json<{ status: string }>();
    if (status === 'succeeded') return;
    if (!['queued', 'running'].includes(status)) throw new Error(`the job is ${answer.body}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const timeless = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (name, each: unknown) => (name === 'durationMs' ? 0 : each)));

const reads = [
  'svc_collections_get_v1',
  'svc_collections_inspect_v1',
  'svc_collections_list_v1',
  'svc_records_get_v1',
  'svc_records_query_v1',
  'svc_records_search_v1',
];

describe('the tools that a caller is shown', () => {
  test('are those that its policies allow', async () => {
    const ofReader = await namesOf(service, 'reader');
    expect(ofReader).toEqual(expect.arrayContaining(reads));
    expect(ofReader.filter((name) => /_start_|_execution_/.test(name))).toEqual([]);
    const ofWriter = await namesOf(service, 'writer');
    expect(ofWriter).toEqual(
      expect.arrayContaining([
        ...reads,
        'svc_execution_start_run_v1',
        'svc_records_start_batch_upsert_job_v1',
      ]),
    );
    expect(await namesOf(service, 'runner')).toEqual([
      'svc_execution_get_run_history_v1',
      'svc_execution_get_run_v1',
    ]);
  });

  test('O03: are all that it can call: a hidden one is answered like one that does not exist', async () => {
    const call = (name: string) => service.ask('reader', 'tools/call', { name, arguments: {} });
    const hidden = await call('svc_records_start_batch_upsert_job_v1');
    expect(hidden.error?.code).toBe(-32602);
    expect(hidden).toEqual(await call('svc_records_nothing_v1'));
  });

  test('have definitions that a validator of the dialect reads', async () => {
    const { result } = await service.ask('writer', 'tools/list');
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const tools = (result?.['tools'] ?? []) as readonly Readonly<
      Record<'inputSchema' | 'outputSchema', object>
    >[];
    expect(tools.length).toBeGreaterThan(0);
    for (const { inputSchema, outputSchema } of tools) {
      expect(ajv.compile(inputSchema)).toBeTypeOf('function');
      expect(ajv.compile(outputSchema)).toBeTypeOf('function');
    }
  });
});

describe('the settings of single operations', () => {
  test('O10: remove tools and disable tasks until they are named', async () => {
    const settings = { 'Mcp:Enabled': 'true', 'Mcp:DisabledOperations:0': 'searchRecords' };
    const [plain, other] = await Promise.all([
      startMcpService({
        settings: { 'Mcp:EnabledOperations:0': 'startEmbeddingJob', ...noMore, ...settings },
      }),
      startMcpService({ settings: { 'Records:Enabled': 'false' } }),
    ]);
    const names = await namesOf(plain, 'writer');
    expect(names.filter((name) => name.includes('_start_'))).toEqual(['svc_embeddings_start_job_v1']);
    expect(names).not.toContain('svc_records_search_v1');
    // A group that is not served offers nothing.
    expect((await namesOf(other, 'writer')).filter((name) => !/_(execution|providers)_/.test(name))).toEqual(
      [],
    );
    await Promise.all([plain.close(), other.close()]);
  });
});

/** The stage enables all tasks; the same id again leaves one of them. */
const noMore = Object.fromEntries(
  taskOperations.slice(1).map((_, at) => [`Mcp:EnabledOperations:${at + 1}`, 'startEmbeddingJob']),
);

describe('the answer of a tool', () => {
  test('is that of the operation, as text and as values, and has the schema of the tool', async () => {
    const result = await callTool(service, 'reader', 'svc_records_query_v1', {
      collection: 'articles',
      limit: 2,
    });
    const { content, structuredContent, _meta } = result as {
      content: { text: string }[];
      structuredContent: { items: { id: string }[]; continuationToken: string };
      _meta: object;
    };
    expect(structuredContent.items.map(({ id }) => id)).toEqual(['a-0', 'a-1']);
    expect(JSON.parse(content[0]?.text ?? '')).toEqual(structuredContent);
    expect(_meta).toMatchObject({ 'svc.runtime/content': 'data' });
    const { continuationToken } = structuredContent;
    const rest = await callTool(service, 'reader', 'svc_records_query_v1', {
      collection: 'articles',
      limit: 2,
      continuationToken,
    });
    expect(rest['structuredContent']).toMatchObject({ items: [{ id: 'a-2' }], continuationToken: null });
  });

  test('has the schema of the tool, whole and in parts', async () => {
    const { result } = await service.ask('reader', 'tools/list');
    const tools = result?.['tools'] as readonly { name: string; outputSchema: object }[];
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const answers: readonly (readonly [string, object])[] = [
      ['svc_collections_list_v1', {}],
      ['svc_collections_get_v1', { collection: 'articles' }],
      ['svc_collections_inspect_v1', { collection: 'articles' }],
      ['svc_records_get_v1', { collection: 'articles', partitionKey: 'p', id: 'a-1' }],
      ['svc_records_get_v1', { collection: 'articles', partitionKey: 'p', id: 'a-1', answerOffset: 9 }],
      ['svc_records_search_v1', { collection: 'articles', query: 'hello' }],
    ];
    for (const [name, given] of answers) {
      const answer = await callTool(service, 'reader', name, given as Record<string, unknown>);
      expect(answer['isError'], JSON.stringify(answer['content'])).toBeUndefined();
      const schema = tools.find((tool) => tool.name === name)?.outputSchema ?? false;
      const validate = ajv.compile(schema as object);
      expect(validate(answer['structuredContent']), `${name} ${JSON.stringify(validate.errors)}`).toBe(true);
    }
  });

  test('of each group is that of its operation', async () => {
    const { body } = await service.call({
      method: 'POST',
      path: '/collections/people/graph/import',
      headers: { [IDENTITY]: 'writer' },
      body: {
        envelope: {
          scope: { graphId: 'people' },
          nodes: [
            { id: 'ada', type: 'person' },
            { id: 'bob', type: 'person' },
          ],
          edges: [{ id: 'ab', sourceId: 'ada', targetId: 'bob', predicate: 'knows' }],
        },
      },
    });
    const { id } = JSON.parse(body) as { id: string };
    await ended(`/graph/jobs/${id}`);
    const retrieval = { query: 'hello', collections: ['articles'], searchMode: 'lexical', limit: 1 };
    const answers: readonly (readonly [tool: string, path: string, params: object, sent: object])[] = [
      ['svc_retrieval_retrieve_v1', '/search', retrieval, retrieval],
      [
        'svc_rag_build_context_v1',
        '/rag/context',
        { ...retrieval, advanced: { contentField: 'text' } },
        { retrieval, contentField: 'text' },
      ],
      [
        'svc_graph_traverse_v1',
        '/collections/people/graph/traverse',
        { collection: 'people', graphId: 'people', startNodeIds: ['ada'], limit: 5 },
        { graphId: 'people', startNodeIds: ['ada'], profile: { limit: 5 } },
      ],
    ];
    for (const [tool, path, params, sent] of answers) {
      const headers = { [IDENTITY]: 'reader' };
      const rest = await service.call({ method: 'POST', path, headers, body: sent });
      expect(rest.status, `${tool} ${rest.body}`).toBe(200);
      const result = await callTool(service, 'reader', tool, params as Readonly<Record<string, unknown>>);
      expect(result['isError'], JSON.stringify(result['content'])).toBeUndefined();
      const { map } = found.definitions.find(({ definition: { name } }) => name === tool) as unknown as {
        map: ToolMap;
      };
      expect(timeless(result['structuredContent'])).toEqual(timeless(shownAnswer(map, rest.json(), [])));
    }
  });

  test('comes from the operation in this process: no connection is opened', async () => {
    const connect = vi.spyOn(Socket.prototype, 'connect');
    const given = { collection: 'articles', partitionKey: 'p', id: 'a-0' };
    expect(await callTool(service, 'reader', 'svc_records_get_v1', given)).toMatchObject({
      structuredContent: { id: 'a-0' },
    });
    expect(connect).not.toHaveBeenCalled();
    connect.mockRestore();
  });

  test('is bounded, and the parts of a long one are the whole', async () => {
    const long = 'ä😀'.repeat(3_000);
    const body = { id: 'long', partitionKey: 'p', type: 'article', metadata: {}, content: { text: long } };
    const path = '/collections/articles/records';
    await service.call({ method: 'POST', path, headers: { [IDENTITY]: 'writer' }, body });
    const place = { collection: 'articles', partitionKey: 'p', id: 'long' };
    const rest = await service.call({
      method: 'GET',
      path: `${path}/p/long`,
      headers: { [IDENTITY]: 'writer' },
    });
    let text = '';
    const hashes = new Set<string>();
    let offset: number | null = null;
    do {
      const given: Record<string, unknown> = offset === null ? place : { ...place, answerOffset: offset };
      const result = await callTool(service, 'reader', 'svc_records_get_v1', given);
      const { part } = result['structuredContent'] as {
        part: { text: string; nextOffset: number | null; length: number; hash: string };
      };
      expect(part.text.length).toBeLessThanOrEqual(2_000);
      expect(part.text.isWellFormed()).toBe(true);
      text += part.text;
      hashes.add(part.hash);
      offset = part.nextOffset;
    } while (offset !== null);
    // The tool leaves vectors out unless it is asked for them.
    const { vectors: _vectors, embedding: _embedding, ...shown } = rest.json<Record<string, unknown>>();
    expect(JSON.parse(text)).toEqual(shown);
    expect(hashes.size).toBe(1);
    const beyond = await callTool(service, 'reader', 'svc_records_get_v1', {
      ...place,
      answerOffset: text.length + 1,
    });
    expect(beyond).toMatchObject({ isError: true });
  });

  test.each([
    ['an argument that the tool does not have', { collection: 'articles', colour: 'red' }],
    ['a parameter of another type', { collection: 7 }],
    ['a member of another type', { collection: 'articles', limit: 'two' }],
    ['a missing parameter', {}],
    ['a collection that does not exist', { collection: 'nothing' }],
    ['an offset that is none', { collection: 'articles', answerOffset: -1 }],
  ])('is an error of the tool for %s', async (_, given) => {
    const result = await callTool(service, 'reader', 'svc_records_query_v1', given);
    expect(result).toMatchObject({ isError: true, _meta: { 'svc.runtime/problem': { retryable: false } } });
    expect(JSON.stringify(result['content'])).not.toContain('colour');
    expect(result['structuredContent']).toBeUndefined();
  });
});

test('a collection that does not exist is named by its place, with the tool that lists the names', async () => {
  const given = { query: 'Hello', collections: ['articles', 'nothing'], searchMode: 'lexical' };
  const { content } = await callTool(service, 'writer', 'svc_retrieval_retrieve_v1', given);
  const text =
    'Collection (as given) does not exist. It is the one at /collections/1. svc_collections_list_v1 has the names. (collection_not_found)';
  expect(content).toEqual([{ type: 'text', text }]);
});

describe('resources', () => {
  test('are the documents of the service', async () => {
    const uris = await namesOf(service, 'reader', 'resources/list');
    expect(uris).toEqual([
      'svc://health/v1',
      'svc://open_api_contract/v1',
      'svc://public_schema_contract/v1',
      'svc://readiness/v1',
    ]);
    for (const uri of uris) {
      const { result } = await service.ask('reader', 'resources/read', { uri });
      const [content] = (result?.['contents'] ?? []) as readonly { text: string; uri: string }[];
      expect(content?.uri).toBe(uri);
      expect(JSON.parse(content?.text ?? '')).toBeTypeOf('object');
      const isLive = /health|readiness/.test(uri);
      // O12: a shared cache may store only documents that are the same for every caller.
      expect(result).toMatchObject(
        isLive ? { ttlMs: 0, cacheScope: 'private' } : { ttlMs: 60_000, cacheScope: 'public' },
      );
    }
  });

  test('that do not exist are unknown', async () => {
    const { error } = await service.ask('reader', 'resources/read', { uri: 'svc://nothing/v1' });
    expect(error).toMatchObject({ code: -32602, data: { uri: 'svc://nothing/v1' } });
  });
});

test('a run without a scope is refused with the argument that it lacks', async () => {
  const name = 'svc_execution_start_run_v1';
  const result = await callTool(service, 'writer', name, { handlerId: 'invoice.render' });
  expect(result).toMatchObject({
    isError: true,
    _meta: { 'svc.runtime/problem': { code: 'permission_denied' } },
  });
  expect(JSON.stringify(result['content'])).toContain('Add \\"scope\\"');
  const tool = found.definitions.find(({ definition }) => definition.name === name);
  expect(tool?.definition).toHaveProperty('inputSchema.properties.scope.required', ['productId', 'tenantId']);
});
